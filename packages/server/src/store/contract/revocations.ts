import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Revocation } from "../../revocation/model.ts";
import type { SsoLogin } from "../../sso/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { addLease } from "../../testing/leases.ts";
import {
	aLease,
	aMachine,
	aMachineToken,
	anAccount,
	anEvent,
	anInvitation,
	aSession,
	aToken,
	aTrust,
	MADE_AT,
	newId,
} from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about revocations. */
export async function revocationContract(openStore: OpenStore): Promise<void> {
	const { store } = await openStore({ after });
	const { leases } = store;
	const NOW_MS = Date.parse(MADE_AT);

	/** Two people with a session, an unrestricted token, one for each realm, and an active lease in each realm. */
	async function setUp() {
		const people = [await addAccount(store), await addAccount(store)] as const;
		const realms = [await addRealm(store, people[0]), await addRealm(store, people[0])] as const;
		const sessions = people.map((person) => ({ ...aSession(person.id), password: person.password }));
		const tokens = people.flatMap(({ id }) =>
			[null, realms[0].id, realms[1].id].map((realm_id) => aToken(id, { realm_id })),
		);
		for (const { password, ...session } of sessions) await store.accounts.openSession({ session, password }, anEvent());
		for (const token of tokens) await store.tokens.create(token, anEvent());
		for (const { id: user_id } of people)
			for (const { id } of realms) await addLease(store, "active", aLease(id, { user_id }));
		const revoke = (given: Partial<Revocation>) =>
			store.revocations.revoke(
				{ user_id: undefined, realm_id: undefined, keep: "", links_since: undefined, now_ms: NOW_MS, ...given },
				anEvent({ type: "access.revoked" }),
			);
		return { people, realms, sessions, tokens, revoke };
	}

	test("everything of a user is revoked, with one event that counts it", async () => {
		const { people, tokens, sessions, revoke } = await setUp();
		const [ada, bob] = people;
		const start = await countEvents(store);
		const counts = { sessions: 1, tokens: 3, leases: 2, identities: 0 };
		assert.deepEqual(await revoke({ user_id: ada.id }), counts);
		assert.deepEqual(await eventsAfter(store, start), [["access.revoked", counts]]);
		const left = await Promise.all(tokens.map(({ id }) => store.tokens.byId(id)));
		assert.deepEqual(new Set(left.flatMap((token) => token?.user_id ?? [])), new Set([bob.id]));
		const owners = sessions.map(({ jti, user_id }) => store.accounts.sessionOwner(jti, user_id, MADE_AT));
		assert.deepEqual(
			(await Promise.all(owners)).map((owner) => owner?.user_id),
			[undefined, bob.id],
		);
		assert.deepEqual(await revoke({ user_id: ada.id }), { sessions: 0, tokens: 0, leases: 0, identities: 0 });
	});

	test("revoking a realm ends its tokens and leases; revoking a user in a realm ends that user's there", async () => {
		const { people, realms, revoke } = await setUp();
		assert.deepEqual(await revoke({ user_id: people[1].id, realm_id: realms[0].id }), {
			sessions: 0,
			tokens: 1,
			leases: 1,
			identities: 0,
		});
		assert.deepEqual(await revoke({ realm_id: realms[0].id }), { sessions: 0, tokens: 1, leases: 1, identities: 0 });
		assert.deepEqual(await revoke({ realm_id: realms[1].id }), { sessions: 0, tokens: 2, leases: 2, identities: 0 });
		assert.deepEqual(await revoke({ user_id: people[0].id }), { sessions: 1, tokens: 1, leases: 0, identities: 0 });
	});

	test("the session or the token that asks stays", async () => {
		const { people, sessions, tokens, revoke } = await setUp();
		const user_id = people[0].id;
		assert.deepEqual(await revoke({ user_id, keep: sessions[0]?.jti ?? "" }), {
			sessions: 0,
			tokens: 3,
			leases: 2,
			identities: 0,
		});
		assert.deepEqual(await revoke({ user_id: people[1].id, keep: tokens[3]?.id ?? "" }), {
			sessions: 1,
			tokens: 2,
			leases: 2,
			identities: 0,
		});
		assert.ok(await store.tokens.byId(tokens[3]?.id ?? ""));
	});

	test("a credential whose lease is revoked while it is created reaches no caller, and is revoked once it exists", async () => {
		const { people, realms, revoke } = await setUp();
		const user_id = people[0].id;
		await revoke({ user_id });
		const lease = aLease(realms[0].id, { user_id });
		await leases.begin(lease, null, anEvent());
		assert.equal((await revoke({ user_id })).leases, 1);
		assert.equal((await leases.byId(lease.id))?.state, "intent");
		const now = anEvent({ timestamp: MADE_AT });
		assert.equal(await leases.activate({ ...lease, due_at: NOW_MS * 2, payload: null }, now), "lost");
		const { state, reason, due_at } = (await leases.byId(lease.id)) ?? assert.fail("no lease");
		assert.deepEqual([state, reason, due_at], ["revoking", "requested", NOW_MS]);
	});

	test("each revocation of much that a user made ends a part and says so; a realm's log records it once", async () => {
		const { people, realms, revoke } = await setUp();
		const [{ id: owner }, { id: user_id }] = people;
		const made = { created_by: user_id, created_at: MADE_AT };
		const [theirs, other] = [aMachine(realms[0].id, made), aMachine(realms[0].id, { created_by: owner })];
		for (const machine of [theirs, other]) await store.machines.set(machine, anEvent());
		const trust = aTrust(theirs.id, made);
		await store.trusts.set(trust, anEvent());
		const given = Array.from({ length: 1000 }, () => aMachineToken(theirs.id, { trust_id: trust.id, created_by: "" }));
		const own = [aMachineToken(theirs.id, made), aMachineToken(other.id, made), aMachineToken(other.id)];
		for (const token of [...given, ...own]) assert.equal(await store.machines.addToken(token, anEvent()), "done");
		const start = await countEvents(store);
		const what = { user_id, made_since: "2029-12-31T00:00:00.000Z" };
		const counts = { sessions: 0, tokens: 0, leases: 0, identities: 0, invitations: 0 };
		const parts = [
			{ ...counts, sessions: 1, tokens: 3, leases: 2, machine_tokens: 1000, trusts: 0, machines: 0, more: true },
			{ ...counts, machine_tokens: 2, trusts: 1, machines: 1 },
		];
		assert.deepEqual([await revoke(what), await revoke({ ...what, isFurther: true })], parts);
		const events = await eventsAfter(store, start, [realms[0].id]);
		assert.deepEqual(
			events,
			[parts[0], { more: true }, parts[1]].map((data) => ["access.revoked", data]),
		);
		assert.equal(await store.machines.countTokens(other.id), 1);
	});

	test("each revocation of a realm's many tokens ends a part and says so", async () => {
		const { realms, revoke } = await setUp();
		const machine = aMachine(realms[1].id);
		await store.machines.set(machine, anEvent());
		const tokens = Array.from({ length: 1000 }, () => aMachineToken(machine.id, { trust_id: "t", created_by: "" }));
		for (const token of tokens) await store.machines.addToken(token, anEvent());
		const what = { realm_id: realms[1].id };
		const counts = { sessions: 0, leases: 0, identities: 0 };
		assert.deepEqual(await revoke(what), { ...counts, leases: 2, tokens: 1002, more: true });
		assert.deepEqual(await revoke(what), { ...counts, tokens: 0 });
		assert.equal(await store.machines.countTokens(machine.id), 0);
	});

	test("with_made ends what a user made recently, with an event in each realm concerned", async () => {
		const { people, realms, revoke } = await setUp();
		const [{ id: owner }, { id: user_id }] = people;
		const [since, old] = ["2030-01-01T00:00:00.000Z", "2029-12-01T00:00:00.000Z"];
		const created_at = "2030-01-01T00:00:01.000Z";
		const [own, older, other] = [
			aMachine(realms[0].id, { created_by: user_id, created_at }),
			aMachine(realms[0].id, { created_by: user_id, created_at: old }),
			aMachine(realms[1].id, { created_by: owner, created_at }),
		];
		const machines = [own, older, other];
		for (const machine of machines) await store.machines.set(machine, anEvent());
		const token = aMachineToken(other.id, { created_by: user_id, created_at });
		for (const one of [token, aMachineToken(own.id, { created_by: owner, created_at }), aMachineToken(other.id)])
			assert.equal(await store.machines.addToken(one, anEvent()), "done");
		const trusts = [
			aTrust(other.id, { created_by: user_id, created_at }),
			aTrust(own.id, { created_by: owner, created_at }),
			aTrust(other.id, { created_by: owner, created_at }),
			aTrust(other.id, { created_by: user_id, created_at: old }),
		];
		for (const trust of trusts) await store.trusts.set(trust, anEvent());
		const given = trusts.map(({ id: trust_id, machine_id }) =>
			aMachineToken(machine_id, { trust_id, created_by: "", created_at }),
		);
		for (const token of given) await store.machines.addToken(token, anEvent());
		const invitation = anInvitation(user_id);
		await store.invitations.make(invitation, anEvent());
		const made = await store.revocations.made(user_id, since, MADE_AT);
		assert.deepEqual(
			[
				made.machines.map(({ name }) => name),
				made.machine_tokens.map(({ id }) => id),
				new Set(made.trusts.map(({ id }) => id)),
				made.invitations.map(({ id }) => id),
			],
			[[own.name], [token.id], new Set([trusts[0]?.id, trusts[1]?.id]), [invitation.id]],
		);
		assert.equal(made.machine_tokens[0]?.machine, `${realms[1].slug}/${other.name}`);
		assert.equal((await revoke({ user_id })).machines, undefined);
		const start = await countEvents(store);
		const ended = await revoke({ user_id, made_since: since });
		const { machines: deleted, machine_tokens, trusts: removed, invitations } = ended;
		assert.deepEqual([deleted, machine_tokens, removed, invitations], [1, 4, 2, 1]);
		const kept = (await store.machines.tokens(other.id, "", 10)).flatMap(({ trust_id }) => trust_id ?? []);
		assert.deepEqual(new Set(kept), new Set([trusts[2]?.id, trusts[3]?.id]));
		const left = await Promise.all(machines.map(({ id }) => store.machines.byId(id)));
		assert.deepEqual(
			left.map((machine) => machine?.id),
			[undefined, older.id, other.id],
		);
		const recorded = await eventsAfter(store, start, [realms[0].id, realms[1].id]);
		assert.equal(recorded.filter(([type]) => type === "access.revoked").length, 3);
		assert.deepEqual(await store.revocations.made(user_id, since, MADE_AT), {
			...{ machines: [], machine_tokens: [], trusts: [], invitations: [] },
		});
	});

	test("a user's recent links are revoked, except the one that made the account; none is when a realm is revoked or links are to stay", async () => {
		const { realms, revoke } = await setUp();
		const account = anAccount({ password: null });
		const arrive = (subject: string, created_at: string, arrival: SsoLogin["arrival"]) =>
			store.sso.signIn(
				{
					...{ identity: { provider: subject, issuer: "i", subject }, link_id: newId(), arrival, used: [], roles: [] },
					session: aSession(account.id, { created_at }),
					known: { pair: Buffer.alloc(32, 1), seen_at: MADE_AT, renew_before: MADE_AT },
				},
				anEvent(),
			);
		await arrive("own", "2030-01-03T00:00:00.000Z", { kind: "created", account, is_vouched: true });
		await arrive("old", "2030-01-01T00:00:00.000Z", { kind: "linked" });
		await arrive("late", "2030-01-02T00:00:00.000Z", { kind: "linked" });
		const left = async () => (await store.sso.identitiesOf(account.id)).map(({ provider }) => provider);
		const whose = { user_id: account.id, links_since: "2030-01-01T00:00:00.000Z" };
		for (const given of [
			{ user_id: account.id },
			{ ...whose, realm_id: realms[0].id },
			{ links_since: whose.links_since, realm_id: realms[0].id },
		])
			assert.equal((await revoke(given)).identities, 0);
		assert.deepEqual(await left(), ["old", "late", "own"]);
		const start = await countEvents(store);
		assert.equal((await revoke(whose)).identities, 1);
		assert.deepEqual(await left(), ["old", "own"]);
		assert.equal((await eventsAfter(store, start))[0]?.[1].identities, 1);
	});
}
