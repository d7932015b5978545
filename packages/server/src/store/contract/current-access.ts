import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { AuditEvent } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import type { Capability, Grant, Maker } from "../../policy/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aConfig, aLease, anEvent, aSession, aToken, aVersion, MADE_AT, newId } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about changes whose maker lost the right to them meanwhile. */
export async function currentAccessContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const root = await addAccount(store);

	/** A user with a session, a token, and a role in another user's realm. */
	async function somebody() {
		const owner = await addAccount(store);
		const account = await addAccount(store);
		const realm = await addRealm(store, owner);
		await addBinding(store, realm, account, "member");
		const session = aSession(account.id);
		await store.accounts.openSession({ session, password: account.password }, anEvent());
		const token = aToken(account.id);
		await store.tokens.create(token, anEvent());
		const can = (capability: Capability, isAdminOnly = false): Grant => ({
			realm_id: realm.id,
			capability,
			isAdminOnly,
		});
		const bySession = (...grants: Grant[]): Maker => ({
			user_id: account.id,
			jti: session.jti,
			token_id: undefined,
			grants,
		});
		const byToken = (...grants: Grant[]): Maker => ({
			user_id: account.id,
			jti: undefined,
			token_id: token.id,
			grants,
		});
		return { owner, account, realm, session, token, can, bySession, byToken };
	}

	/** Writes a secret as that maker, and returns "done" or the error's code. */
	async function write(realm_id: string, maker: Maker, timestamp = MADE_AT): Promise<string> {
		const event: AuditEvent = anEvent({
			type: "secret.set",
			realm_id,
			maker,
			timestamp,
			data: { request_id: "r", key: "k" },
		});
		return store.secrets.set(aVersion(realm_id, newId()), event).then(
			() => "done",
			(error: unknown) => (error instanceof AppError ? error.code : String(error)),
		);
	}

	const count = (realm_id: string) => store.secrets.count(realm_id, undefined);

	test("a change is made while its maker still has what it was decided on, and the log does not keep that", async () => {
		const { realm, can, bySession, byToken } = await somebody();
		const start = await countEvents(store);
		for (const maker of [
			bySession(can("secrets:write")),
			byToken(can("secrets:read"), can("secrets:write")),
			bySession(),
		])
			assert.equal(await write(realm.id, maker), "done");
		assert.equal(await count(realm.id), 3);
		const [event] = await eventsAfter(store, start, [realm.id]);
		assert.deepEqual(event, ["secret.set", { request_id: "r", key: "k", version: 1 }]);
	});

	test("a change by a caller who is no longer let in is refused as a request would be, and changes nothing", async () => {
		type Somebody = Awaited<ReturnType<typeof somebody>>;
		const ends: [why: string, end: (who: Somebody) => Promise<unknown>, session: string, token: string][] = [
			[
				"the session is over",
				({ session }) => store.accounts.closeSession(session.jti, anEvent()),
				"unauthorized",
				"done",
			],
			[
				"the token is revoked",
				({ token, account }) => store.tokens.revoke({ id: token.id, user_id: account.id }, anEvent()),
				"done",
				"unauthorized",
			],
			[
				"the account is disabled",
				({ account }) => store.accounts.setDisabled({ user_id: account.id, disabled_at: MADE_AT }, anEvent()),
				"unauthorized",
				"unauthorized",
			],
			[
				"the role is gone",
				({ realm, account }) => store.policy.unbind({ realm_id: realm.id, user_id: account.id }, anEvent()),
				"not_found",
				"not_found",
			],
			[
				"the role is less",
				async ({ realm, account }) => {
					await store.policy.unbind({ realm_id: realm.id, user_id: account.id }, anEvent());
					await addBinding(store, realm, account, "viewer");
				},
				"forbidden",
				"forbidden",
			],
			[
				"the realm is deleted",
				({ realm }) => store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent()),
				"not_found",
				"not_found",
			],
		];
		for (const [why, end, session, token] of ends) {
			const who = await somebody();
			await end(who);
			const before = await count(who.realm.id);
			const got = [await write(who.realm.id, who.bySession(who.can("secrets:write")))];
			got.push(await write(who.realm.id, who.byToken(who.can("secrets:write"))));
			assert.deepEqual(got, [session, token], why);
			assert.equal(await count(who.realm.id), before + got.filter((one) => one === "done").length, why);
		}
	});

	test("a session and a token are good until they end, and only for their own account", async () => {
		const { realm, session, account, owner, can, bySession } = await somebody();
		const maker = bySession(can("secrets:write"));
		assert.equal(await write(realm.id, maker, "2030-01-01T23:59:59.999Z"), "done");
		assert.equal(await write(realm.id, maker, session.expires_at), "unauthorized");
		assert.equal(await write(realm.id, { ...maker, user_id: owner.id }), "unauthorized");
		const over = aToken(account.id, { expires_at: MADE_AT });
		await store.tokens.create(over, anEvent());
		for (const token_id of [over.id, newId()])
			assert.equal(await write(realm.id, { ...maker, token_id }), "unauthorized", token_id);
	});

	test("what only admins may do is refused to others with 403, and the refusal is in the log as a rule writes it", async () => {
		const { realm, account, can, bySession } = await somebody();
		const start = await countEvents(store);
		assert.equal(await write(realm.id, bySession(can("policy:manage", true))), "forbidden");
		await store.policy.unbind({ realm_id: realm.id, user_id: account.id }, anEvent());
		assert.equal(await write(realm.id, bySession(can("policy:manage", true))), "forbidden");
		assert.equal(await write(realm.id, bySession(can("secrets:write"))), "not_found");
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
		assert.equal(await write(realm.id, bySession(can("policy:manage", true))), "not_found");
		assert.deepEqual(
			(await eventsAfter(store, start, [realm.id])).filter(([type]) => type === "access.denied"),
			[
				["access.denied", { wanted: "policy:manage", reason: "forbidden", request_id: "r" }],
				["access.denied", { wanted: "policy:manage", reason: "forbidden", request_id: "r" }],
				["access.denied", { wanted: "secrets:write", reason: "not_found", request_id: "r" }],
			],
		);
	});

	test("the owner of a realm is its admin, and the instance admin is who the account says", async () => {
		const { realm, owner, can, bySession } = await somebody();
		const signIn = async ({ id, password }: typeof owner): Promise<Maker> => {
			const session = aSession(id);
			await store.accounts.openSession({ session, password }, anEvent());
			return { user_id: id, jti: session.jti, token_id: undefined, grants: [] };
		};
		assert.equal(await write(realm.id, { ...(await signIn(owner)), grants: [can("realms:manage")] }), "done");
		assert.equal(await write(realm.id, { ...(await signIn(root)), grants: ["instance"] }), "done");
		assert.equal(await write(realm.id, bySession("instance")), "forbidden");
	});

	test("a maker is checked wherever the event is among the arguments of an operation", async () => {
		const { realm, can, bySession } = await somebody();
		const event = anEvent({ maker: bySession(can("realms:manage")) });
		for (const attempt of [
			store.leases.begin(aLease(realm.id), null, event, 5),
			store.engines.setConfig(aConfig({ realm_id: realm.id }), event, ["*"]),
		])
			await assert.rejects(attempt, { code: "forbidden" });
	});

	test("a refusal in the middle of a batch leaves the others as they are", async () => {
		const { realm, can, bySession } = await somebody();
		const [good, bad] = [bySession(can("secrets:write")), bySession(can("realms:manage"))];
		const outcomes = await Promise.all([good, bad, good, bad, good].map((maker) => write(realm.id, maker)));
		assert.deepEqual(outcomes, ["done", "forbidden", "done", "forbidden", "done"]);
		assert.equal(await count(realm.id), 3);
		assert.equal((await store.audit.verify([])).status, "intact");
	});

	test("a credential whose maker was signed out or unbound while it was made is revoked", async () => {
		const { realm, account, session, can, bySession, byToken } = await somebody();
		const make = async (made_by: Maker) => {
			const lease = aLease(realm.id);
			await store.leases.begin(lease, null, anEvent());
			const { id, name, expires_at } = lease;
			const made = { id, name, expires_at, payload: null, due_at: 5, made_by };
			const outcome = await store.leases.activate(made, anEvent({ type: "lease.created" }));
			const { state, reason } = (await store.leases.byId(id)) ?? assert.fail();
			return [outcome, state, reason];
		};
		assert.deepEqual(await make(bySession(can("secrets:read"))), ["done", "active", ""]);
		await store.accounts.closeSession(session.jti, anEvent());
		assert.deepEqual(await make(bySession(can("secrets:read"))), ["lost", "revoking", "requested"]);
		assert.deepEqual(await make(byToken(can("secrets:read"))), ["done", "active", ""]);
		await store.policy.unbind({ realm_id: realm.id, user_id: account.id }, anEvent());
		assert.deepEqual(await make(byToken(can("secrets:read"))), ["lost", "revoking", "requested"]);
	});
}
