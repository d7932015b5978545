import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { aMachine, aMachineToken, anEvent, aTrust, MADE_AT, newId } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { MAX_TRUSTS, type Trust, type UsedJwt } from "../../trusts/model.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about trusts and what they give. */
export async function trustContract(openStore: OpenStore): Promise<void> {
	const { store, refusals } = await openStore({ after });
	const { machines, tokens, trusts } = store;
	const ada = await addAccount(store);

	const at = (ms: number) => new Date(Date.parse(MADE_AT) + ms).toISOString();

	async function addMachine() {
		const realm = await addRealm(store, ada);
		const machine = aMachine(realm.id);
		assert.equal(await machines.set(machine, anEvent()), "done");
		return { realm, machine };
	}

	async function add(given: Partial<Trust> = {}) {
		const { realm, machine } = await addMachine();
		const trust = aTrust(machine.id, given);
		assert.equal(await trusts.set(trust, anEvent()), "done");
		return { realm, machine, trust };
	}

	const anExchangedToken = ({ id, machine_id }: Trust) => aMachineToken(machine_id, { trust_id: id, created_by: "" });
	const aUse = (realm_id: string, given: Partial<UsedJwt> = {}): UsedJwt => ({
		digest: hash("sha256", newId(), "buffer"),
		realm_id,
		until: at(60_000),
		...given,
	});
	const give = (trust: Trust, used?: UsedJwt, token = anExchangedToken(trust)) =>
		trusts.exchange({ token, used }, anEvent());

	test("a trust reads as it was made, by its name", async () => {
		const given = { type: "kubernetes", single_use: false, jwks: "{}", ca_cert: null, keys_host: null } as const;
		const { machine, trust } = await add(given);
		assert.deepEqual(await trusts.byName(machine.id, trust.name), trust);
		const spiffe = aTrust(machine.id, { issuer: null, trust_domain: "prod.example" });
		await trusts.set(spiffe, anEvent());
		assert.deepEqual(await trusts.byName(machine.id, spiffe.name), spiffe);
		assert.equal(await trusts.byName(machine.id, "other"), undefined);
	});

	test("a trust of a name that is taken replaces the other one, whose tokens end", async () => {
		const { machine, trust } = await add();
		const token = anExchangedToken(trust);
		assert.equal(await give(trust, undefined, token), "done");
		assert.ok(await tokens.owner(token.digest));
		const start = await countEvents(store);
		const other = aTrust(machine.id, { name: trust.name, claims: '{"sub":"else"}' });
		assert.equal(await trusts.set(other, anEvent()), "done");
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { tokens: 1 }]]);
		assert.deepEqual(await trusts.list(machine.id, "", 10), [other]);
		assert.equal(await tokens.owner(token.digest), undefined);
		assert.equal(await give(trust), "gone", "it is not what the JWT was compared with");
	});

	test("a machine's trusts are listed by name, after the one that is named and up to the limit", async () => {
		const { machine } = await addMachine();
		for (const name of ["c", "a", "b"]) await trusts.set(aTrust(machine.id, { name }), anEvent());
		await add({ name: "elsewhere" });
		const names = async (after: string, limit: number) =>
			(await trusts.list(machine.id, after, limit)).map(({ name }) => name).join();
		assert.deepEqual([await names("", 10), await names("a", 1)], ["a,b,c", "b"]);
		assert.equal(await trusts.count(machine.id), 3);
	});

	test("removing a trust ends the tokens that it gave, once, and no others", async () => {
		const { machine, trust } = await add();
		const [given, own] = [anExchangedToken(trust), aMachineToken(machine.id)];
		await give(trust, undefined, given);
		await machines.addToken(own, anEvent());
		const start = await countEvents(store);
		const remove = () => trusts.remove({ machine_id: machine.id, name: trust.name }, anEvent());
		assert.deepEqual(await Promise.all([remove(), remove()]), [true, false]);
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { tokens: 1 }]]);
		assert.equal(await tokens.owner(given.digest), undefined);
		assert.ok(await tokens.owner(own.digest));
		assert.equal(await give(trust), "gone");
	});

	test("a token and the memory of its JWT come together or not at all, and a JWT is used once", async () => {
		const { realm, machine, trust } = await add();
		const used = aUse(realm.id);
		const outcomes = await Promise.all(Array.from({ length: 50 }, () => give(trust, used)));
		assert.equal(outcomes.filter((outcome) => outcome === "done").length, 1);
		assert.equal(outcomes.filter((outcome) => outcome === "replay").length, 49);
		assert.equal(await machines.countTokens(machine.id), 1);
		const other = await add();
		assert.equal(await give(other.trust, used), "replay", "it is used everywhere");
		const next = aUse(realm.id);
		const taken = anExchangedToken(trust);
		await give(trust, undefined, taken);
		await assert.rejects(give(trust, next, aMachineToken(machine.id, { ...taken, id: newId() })), refusals.unique);
		assert.equal(await give(trust, next), "done", "no token was given for it");
	});

	test("a JWT that has ended is forgotten", async () => {
		const { realm, trust } = await add();
		const used = aUse(realm.id, { until: at(5) });
		await give(trust, used);
		await trusts.forgetUsed(at(5));
		assert.equal(await give(trust, used), "replay");
		assert.ok((await trusts.forgetUsed(at(6))) >= 1);
		assert.equal(await give(trust, used), "done");
	});

	test("a deleted machine's and a deleted realm's trusts have ended, and a restored realm has none", async () => {
		const first = await add();
		const start = await countEvents(store);
		await machines.remove(first.machine, anEvent());
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { tokens: 0, trusts: 1 }]]);
		assert.equal(await trusts.count(first.machine.id), 0);
		assert.equal(await trusts.set(aTrust(first.machine.id), anEvent()), "gone");
		const { realm, machine, trust } = await add();
		await store.realms.remove({ id: realm.id, deleted_at: MADE_AT }, anEvent());
		assert.equal(await give(trust), "gone");
		assert.equal(await trusts.set(aTrust(machine.id), anEvent()), "gone");
		const restored = { id: realm.id, slug: realm.slug, user_id: ada.id, since: "" };
		assert.equal(await store.realms.restore(restored, anEvent()), "done");
		assert.equal(await trusts.count(machine.id), 0);
		assert.equal(await give(trust), "gone");
		assert.equal(await trusts.set(aTrust(machine.id), anEvent()), "done");
	});

	test("a machine's trusts are limited, and replacing one is not refused", async () => {
		const { machine } = await addMachine();
		const set = (name: string) => trusts.set(aTrust(machine.id, { name }), anEvent());
		const made = await Promise.all(Array.from({ length: MAX_TRUSTS }, (_, index) => set(`t${index}`)));
		assert.deepEqual(new Set(made), new Set(["done"]));
		const start = await countEvents(store);
		assert.equal(await set("another"), "limit_reached");
		assert.equal(await countEvents(store), start);
		assert.equal(await set("t0"), "done");
	});

	test("a trust needs a machine, and one of the known types", async () => {
		const { machine } = await addMachine();
		await assert.rejects(trusts.set(aTrust(machine.id, { type: "ldap" as never }), anEvent()), refusals.check);
		assert.equal(await trusts.set(aTrust("nobody"), anEvent()), "gone");
	});
}
