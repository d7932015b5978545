import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { AuditEvent } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import { limitsText, payerOf } from "../../machines/decide.ts";
import { MAX_MACHINE_TOKENS, MAX_MACHINES, MAX_TRUSTED_TOKENS, type Machine } from "../../machines/model.ts";
import type { Grant, Maker, Role } from "../../policy/model.ts";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aBinding, aMachine, aMachineToken, anEvent, aVersion, MADE_AT, newId, purgeable } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about machines and their tokens. */
export async function machineContract(openStore: OpenStore): Promise<void> {
	const { store, refusals } = await openStore({ after });
	const { machines, tokens } = store;
	const ada = await addAccount(store);

	const at = (ms: number) => new Date(Date.parse(MADE_AT) + ms).toISOString();

	async function add(given: Partial<Machine> = {}) {
		const realm_id = given.realm_id ?? (await addRealm(store, ada)).id;
		const machine = aMachine(realm_id, { created_by: ada.id, ...given });
		assert.equal(await machines.set(machine, anEvent()), "done");
		const token = aMachineToken(machine.id);
		assert.equal(await machines.addToken(token, anEvent()), "done");
		return { machine, token };
	}

	test("a machine reads as it was made, by its name and its id, and the event has its id", async () => {
		const realm = await addRealm(store, ada);
		const start = await countEvents(store);
		const machine = aMachine(realm.id, {
			created_by: ada.id,
			environment: "prod",
			engines: '["keyvalue:readonly"]',
			description: "CI",
		});
		assert.equal(await machines.set(machine, anEvent()), "done");
		assert.deepEqual(await machines.byName(realm.id, machine.name), machine);
		assert.deepEqual(await machines.byId(machine.id), { ...machine, realm: realm.slug, payer: ada.id });
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { machine_id: machine.id }]]);
		assert.equal(await machines.byName(realm.id, "other"), undefined);
		assert.equal(await machines.byId(newId()), undefined);
	});

	test("setting a machine again changes it: it keeps its id, its maker and its tokens", async () => {
		const { machine, token } = await add({ role: "admin", scopes: "read,write,delete" });
		const narrow = { ...machine, id: newId(), role: "viewer", scopes: "read", environment: "dev" } as const;
		const start = await countEvents(store);
		assert.equal(await machines.set({ ...narrow, created_by: "bob", created_at: at(1) }, anEvent()), "done");
		assert.deepEqual(await machines.byName(machine.realm_id, machine.name), { ...narrow, id: machine.id });
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { machine_id: machine.id }]]);
		const { scopes, environment, machine: caller } = (await tokens.owner(token.digest)) ?? assert.fail("nobody's");
		assert.deepEqual([scopes, environment, caller?.limits], ["read", "dev", limitsText(narrow)]);
	});

	test("a token's owner is its machine, in its realm, with its rights now", async () => {
		const realm = await addRealm(store, ada);
		const { machine, token } = await add({ realm_id: realm.id, name: "deploy", role: "member", scopes: "read,write" });
		const owner = (await tokens.owner(token.digest)) ?? assert.fail("nobody's");
		assert.deepEqual([owner.id, owner.user_id, owner.instance_admin], [token.id, machine.id, false]);
		assert.deepEqual([owner.realm_id, owner.scopes, owner.expires_at], [realm.id, "read,write", token.expires_at]);
		assert.equal(owner.machine?.name, `${realm.slug}/deploy`);
		assert.equal((await store.realms.access(realm.slug, machine.id))?.role, "member");
		const other = await addRealm(store, ada);
		assert.equal((await store.realms.access(other.slug, machine.id))?.role, null);
		assert.deepEqual(
			(await store.realms.list(machine.id, undefined, "", 10)).map(({ id }) => id),
			[realm.id],
		);
		assert.equal(await store.realms.count(machine.id, undefined), 1);
	});

	test("a machine counts toward its maker, even in a realm of another account, until the maker is no longer an admin there", async () => {
		const [maker, heir] = [await addAccount(store), await addAccount(store)];
		const realm = await addRealm(store, maker);
		await addBinding(store, realm, heir, "admin");
		const { machine, token } = await add({ realm_id: realm.id, created_by: maker.id });
		const payer = async () => {
			const payers = [await tokens.owner(token.digest), await machines.byId(machine.id)].map((found) => found?.payer);
			assert.equal(payers[0], payers[1]);
			return payers[0];
		};
		assert.equal(await payer(), maker.id);
		const { id, slug, name, description } = realm;
		const kept = aBinding(id, maker.id, { role: "admin" });
		const change = { id, name, description, user_id: heir.id, by_owner: maker.id, kept, realms_per_account: 100 };
		const event = anEvent({ type: "realm.updated", realm_id: id, realm: slug });
		assert.equal(await store.realms.change(change, event), "done");
		assert.equal(await payer(), maker.id);
		const former = payerOf(machine, null);
		const rebind = (role: Role) =>
			store.policy.rebind({ realm_id: id, user_id: maker.id, role, granted_by: heir.id }, anEvent());
		assert.equal(await rebind("member"), true);
		assert.equal(await payer(), former, "not the heir, who need not have agreed");
		assert.equal(await rebind("admin"), true);
		assert.equal(await payer(), maker.id);
		assert.equal(await store.policy.unbind({ realm_id: id, user_id: maker.id }, anEvent()), true);
		assert.equal(await payer(), former);
	});

	test("machines of makers that are disabled or gone share no quota with anybody else's", async () => {
		const [maker, gone, missing] = [await addAccount(store), newId(), newId()];
		const realm = await addRealm(store, ada);
		await addBinding(store, realm, maker, "admin");
		const payerOfNew = async (created_by: string) => {
			const { token } = await add({ realm_id: realm.id, created_by });
			return (await tokens.owner(token.digest))?.payer;
		};
		await store.accounts.setDisabled({ user_id: maker.id, disabled_at: MADE_AT }, anEvent());
		const payers = [ada.id];
		for (const created_by of [maker.id, gone, missing]) payers.push((await payerOfNew(created_by)) ?? "");
		assert.equal(new Set(payers).size, 4);
		assert.equal(await payerOfNew(gone), payers[2]);
	});

	test("a realm's machines are listed by name, after the one that is named and up to the limit", async () => {
		const { id: realm_id } = await addRealm(store, ada);
		for (const name of ["c", "a", "d", "b"]) await add({ realm_id, name });
		await add({ name: "elsewhere" });
		const names = async (after: string, limit: number) =>
			(await machines.list(realm_id, after, limit)).map(({ name }) => name);
		assert.deepEqual(
			[await names("", 10), await names("a", 2)],
			[
				["a", "b", "c", "d"],
				["b", "c"],
			],
		);
		assert.equal(await machines.count(realm_id), 4);
	});

	test("removing a machine ends its tokens with it, once", async () => {
		const { machine, token } = await add();
		assert.ok(await tokens.owner(token.digest));
		const start = await countEvents(store);
		const remove = () => machines.remove(machine, anEvent());
		assert.deepEqual(await Promise.all([remove(), remove()]), [true, false]);
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { tokens: 1 }]]);
		assert.equal(await tokens.owner(token.digest), undefined);
		assert.equal(await machines.countTokens(machine.id), 0);
		assert.equal(await machines.addToken(aMachineToken(machine.id), anEvent()), "gone");
	});

	test("a machine's tokens are its own; a revoked one is gone immediately", async () => {
		const { machine, token } = await add();
		const second = aMachineToken(machine.id, { trust_id: "trust" });
		await machines.addToken(second, anEvent());
		const others = await add();
		assert.deepEqual(await machines.tokens(machine.id, "", 10), [token, second]);
		assert.deepEqual(await machines.tokens(machine.id, token.id, 10), [second]);
		assert.ok(await tokens.owner(second.digest));
		const revoke = (machine_id: string) => machines.revokeToken({ machine_id, id: second.id }, anEvent());
		assert.deepEqual([await revoke(others.machine.id), await revoke(machine.id)], [false, true]);
		assert.equal(await tokens.owner(second.digest), undefined);
		assert.equal(await revoke(machine.id), false);
	});

	test("the last use of a token is kept, and expired ones are forgotten with people's", async () => {
		const { machine } = await add();
		const token = aMachineToken(machine.id, { expires_at: at(5) });
		await machines.addToken(token, anEvent());
		await tokens.used({ id: token.id, at: at(1) });
		const [, found] = await machines.tokens(machine.id, "", 10);
		assert.equal(found?.last_used_at, at(1));
		assert.equal(await tokens.forgetExpired(at(6)), 1);
		assert.equal(await machines.countTokens(machine.id), 1);
	});

	test("a deleted realm's machines let nobody in, and its purge takes them with it", async () => {
		const realm = await addRealm(store, ada);
		const { machine, token } = await add({ realm_id: realm.id });
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
		assert.equal(await tokens.owner(token.digest), undefined);
		assert.equal(await machines.byId(machine.id), undefined);
		assert.equal(await machines.addToken(aMachineToken(machine.id), anEvent()), "gone");
		assert.equal(await machines.set(aMachine(realm.id), anEvent()), "realm_gone");
		await store.realms.empty(purgeable(realm.id));
		assert.equal(await store.realms.purge(purgeable(realm.id), anEvent()), true);
	});

	test("a revocation for a realm ends its machines' tokens; one of the maker does not", async () => {
		const realm = await addRealm(store, ada);
		const { token } = await add({ realm_id: realm.id });
		const revoke = (what: { user_id?: string; realm_id?: string }) =>
			store.revocations.revoke(
				{ user_id: undefined, realm_id: undefined, keep: "", links_since: undefined, now_ms: 0, ...what },
				anEvent(),
			);
		await revoke({ user_id: ada.id });
		assert.ok(await tokens.owner(token.digest));
		assert.equal((await revoke({ realm_id: realm.id })).tokens, 1);
		assert.equal(await tokens.owner(token.digest), undefined);
	});

	test("a realm's machines are limited, and changing one is not refused", async () => {
		const { id: realm_id } = await addRealm(store, ada);
		const made = await Promise.all(
			Array.from({ length: MAX_MACHINES }, (_, index) =>
				machines.set(aMachine(realm_id, { name: `m${index}` }), anEvent()),
			),
		);
		assert.deepEqual(new Set(made), new Set(["done"]));
		const start = await countEvents(store);
		assert.equal(await machines.set(aMachine(realm_id), anEvent()), "limit_reached");
		assert.equal(await countEvents(store), start);
		assert.equal(await machines.set(aMachine(realm_id, { name: "m0", role: "admin" }), anEvent()), "done");
	});

	test("a machine's unexpired tokens are limited, those of people and those of trusts apart; of expired ones the latest stay", async () => {
		const { machine } = await add();
		const addMany = async (count: number, given: Parameters<typeof aMachineToken>[1]) => {
			const outcomes = Array.from({ length: count }, () =>
				machines.addToken(aMachineToken(machine.id, given), anEvent()),
			);
			return new Set(await Promise.all(outcomes));
		};
		assert.deepEqual(await addMany(MAX_MACHINE_TOKENS - 1, {}), new Set(["done"]));
		assert.deepEqual(await addMany(1, {}), new Set(["limit_reached"]));
		const trusted = { trust_id: "trust", expires_at: at(5) };
		assert.deepEqual(await addMany(MAX_TRUSTED_TOKENS, trusted), new Set(["done"]));
		assert.deepEqual(await addMany(1, trusted), new Set(["limit_reached"]));
		assert.deepEqual(await addMany(1, { trust_id: "trust", created_at: at(10) }), new Set(["done"]));
		assert.equal(await machines.countTokens(machine.id), MAX_MACHINE_TOKENS + MAX_MACHINE_TOKENS + 1);
	});

	test("names are unique in a realm, digests everywhere, and a machine needs a realm", async () => {
		const { token } = await add();
		const { machine } = await add();
		await assert.rejects(
			machines.addToken(aMachineToken(machine.id, { digest: token.digest }), anEvent()),
			refusals.unique,
		);
		await assert.rejects(
			machines.addToken(aMachineToken(machine.id, { digest: Buffer.alloc(31) }), anEvent()),
			refusals.check,
		);
		assert.equal(await machines.set(aMachine("nowhere"), anEvent()), "realm_gone");
	});

	/** Writes a secret as a machine, and returns "done" or the error's code. */
	async function write(realm_id: string, maker: Maker, timestamp = MADE_AT): Promise<string> {
		const event: AuditEvent = anEvent({ type: "secret.set", realm_id, maker, timestamp });
		return store.secrets.set(aVersion(realm_id, newId()), event).then(
			() => "done",
			(error: unknown) => (error instanceof AppError ? error.code : String(error)),
		);
	}

	/** A machine that may write, and what it was let in with. */
	async function writer() {
		const { machine, token } = await add({ role: "member", scopes: "read,write" });
		const can: Grant = { realm_id: machine.realm_id, capability: "secrets:write", isAdminOnly: false };
		const caller = { name: "realm/machine", limits: limitsText(machine) };
		const maker: Maker = { user_id: machine.id, machine: caller, jti: undefined, token_id: token.id, grants: [can] };
		return { machine, token, maker, asIs: () => write(machine.realm_id, maker) };
	}

	test("a machine's change is made while the machine, its token and its limits are as they were when it was let in", async () => {
		const { machine, token, maker, asIs } = await writer();
		assert.equal(await asIs(), "done");
		assert.equal(await write(machine.realm_id, maker, token.expires_at), "unauthorized");
		const personal = { ...maker, machine: undefined };
		assert.equal(await write(machine.realm_id, personal), "unauthorized", "its token is nobody's but a machine's");
		const other = await writer();
		assert.equal(await write(machine.realm_id, { ...maker, token_id: other.token.id }), "unauthorized");
		for (const more of [{ scopes: "read,write,delete" }, { environment: "prod" as const }, { engines: '["totp"]' }]) {
			await machines.set({ ...machine, ...more }, anEvent());
			assert.equal(await asIs(), "conflict");
		}
		await machines.set({ ...machine, role: "viewer" }, anEvent());
		assert.equal(await asIs(), "forbidden");
		await machines.set({ ...machine, role: "admin" }, anEvent());
		assert.equal(await asIs(), "done");
		await machines.revokeToken({ machine_id: machine.id, id: token.id }, anEvent());
		assert.equal(await asIs(), "unauthorized");
	});

	test("a machine whose rule let it manage something is refused all the same", async () => {
		const { machine, maker } = await writer();
		await machines.set({ ...machine, role: "admin" }, anEvent());
		for (const capability of ["policy:manage", "realms:manage"] as const) {
			const grants: Grant[] = [{ realm_id: machine.realm_id, capability, isAdminOnly: false }];
			assert.equal(await write(machine.realm_id, { ...maker, grants }), "forbidden");
		}
		assert.equal(await write(machine.realm_id, { ...maker, grants: ["instance"] }), "forbidden");
	});
}
