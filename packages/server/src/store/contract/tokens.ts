import assert from "node:assert/strict";
import { after, test } from "node:test";
import { countEvents, eventsAfter } from "../../testing/events.ts";
import { anEvent, aToken, MADE_AT, newId } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import type { OpenStore } from "./open-store.ts";

/** Tests the port's promises about API tokens. */
export async function tokenContract(openStore: OpenStore): Promise<void> {
	const { store, refusals } = await openStore({ after });
	const { tokens } = store;
	const ada = await addAccount(store, { email: "ada@example.com", name: "Ada" });
	const bob = await addAccount(store);
	const realm = await addRealm(store, ada);

	async function add(user_id = ada.id, given: Parameters<typeof aToken>[1] = {}) {
		const token = aToken(user_id, given);
		await tokens.create(token, anEvent());
		return token;
	}

	test("a token is read as it was written", async () => {
		const restricted = { realm_id: realm.id, environment: "prod", expires_at: "2031-01-01T00:00:00.000Z" };
		const token = await add(ada.id, { scopes: "read,write", ...restricted });
		assert.deepEqual(await tokens.byId(token.id), token);
		assert.equal(await tokens.byId(newId()), undefined);
	});

	test("the owner of a token is found by its digest, with the account's name and the token's rights", async () => {
		const token = await add(ada.id, { scopes: "write", name: "ci", environment: "dev" });
		const { id, user_id, email, name, instance_admin, payer, scopes, realm_id, environment, expires_at } =
			(await tokens.owner(token.digest)) ?? assert.fail("nobody's");
		assert.equal(payer, ada.id);
		assert.deepEqual([id, user_id, email, name, instance_admin], [token.id, ada.id, "ada@example.com", "Ada", true]);
		assert.deepEqual([scopes, realm_id, environment, expires_at], ["write", null, "dev", null]);
		for (const digest of [
			Buffer.alloc(32),
			token.digest.subarray(0, 31),
			Buffer.concat([token.digest, Buffer.of(0)]),
		]) {
			assert.equal(await tokens.owner(digest), undefined);
		}
	});

	test("a token of a disabled account has no owner until the account is enabled", async () => {
		const carol = await addAccount(store);
		const { digest } = await add(carol.id);
		const set = (disabled_at: string | null) =>
			store.accounts.setDisabled({ user_id: carol.id, disabled_at }, anEvent());
		assert.ok(await tokens.owner(digest));
		await set(MADE_AT);
		assert.equal(await tokens.owner(digest), undefined);
		await set(null);
		assert.ok(await tokens.owner(digest));
	});

	test("a revoked token is gone immediately, with one event; revoking it again makes none", async () => {
		const { id, digest } = await add();
		assert.ok(await tokens.owner(digest));
		const start = await countEvents(store);
		assert.equal(await tokens.revoke({ id, user_id: bob.id }, anEvent()), "none", "it is not bob's");
		assert.ok(await tokens.owner(digest));
		assert.equal(await tokens.revoke({ id, user_id: ada.id }, anEvent()), "done");
		assert.equal(await tokens.owner(digest), undefined);
		assert.equal(await tokens.byId(id), undefined);
		assert.equal(await tokens.revoke({ id, user_id: ada.id }, anEvent()), "none");
		assert.equal(await countEvents(store), start + 1);
	});

	test("one of two simultaneous revocations of a token succeeds", async () => {
		const { id } = await add();
		const revoke = () => tokens.revoke({ id, user_id: ada.id }, anEvent());
		assert.deepEqual(await Promise.all([revoke(), revoke()]), ["done", "none"]);
	});

	test("the last use of a token is kept without an event, and of one that is gone nothing is", async () => {
		const { id } = await add();
		const start = await countEvents(store);
		await tokens.used({ id, at: "2030-02-01T00:00:00.000Z" });
		await tokens.used({ id: newId(), at: "2030-02-01T00:00:00.000Z" });
		assert.equal((await tokens.byId(id))?.last_used_at, "2030-02-01T00:00:00.000Z");
		assert.equal(await countEvents(store), start);
	});

	test("a list is a user's own tokens in order, after the one that is named and up to its limit", async () => {
		const carol = await addAccount(store);
		const ids: string[] = [];
		for (let count = 0; count < 5; count++) ids.push((await add(carol.id)).id);
		await add(bob.id);
		const list = async (after: string, limit: number) =>
			(await tokens.list(carol.id, after, limit)).map(({ id }) => id);
		assert.deepEqual(await list("", 10), ids);
		assert.deepEqual(await list(ids[1] ?? "", 2), ids.slice(2, 4));
		assert.equal(await tokens.count(carol.id), 5);
		assert.equal(await tokens.count(newId()), 0);
	});

	test("a token's tree has the token and everything made with it, and revoking it ends all in one event", async () => {
		const makers: (string | null)[] = [null];
		for (let depth = 0; depth < 300; depth++) makers.push((await add(bob.id, { maker_id: makers.at(-1) ?? null })).id);
		const ids = makers.slice(1) as string[];
		const [first = "", second = "", third = ""] = ids;
		const { id: sibling } = await add(bob.id, { maker_id: first });
		const line = async (id: string, after: string, limit: number) =>
			(await tokens.listLineage(id, after, limit)).map((token) => token.id);
		assert.equal(await tokens.countLineage(second), 299);
		assert.deepEqual(await line(second, "", 1000), ids.slice(1));
		assert.deepEqual(await line(second, third, 2), ids.slice(3, 5));
		assert.deepEqual([await line(newId(), "", 10), await tokens.countLineage(newId())], [[], 0]);
		const start = await countEvents(store);
		const revoke = (id: string, within?: string) => tokens.revoke({ id, user_id: bob.id, within }, anEvent());
		assert.deepEqual([await revoke(first, second), await revoke(sibling, second)], ["outside", "outside"]);
		assert.equal(await countEvents(store), start);
		assert.equal(await revoke(third, second), "done");
		assert.deepEqual(await eventsAfter(store, start), [["encrypt", { also_ended: 297 }]]);
		assert.deepEqual(await line(first, "", 10), [first, second, sibling]);
		assert.equal(await revoke(first, first), "done");
		assert.equal(await tokens.byId(sibling), undefined);
	});

	test("only tokens that expired before an instant are forgotten, in an event that names them", async () => {
		const ends = ["2030-01-05T00:00:00.000Z", "2030-01-06T00:00:00.000Z", null];
		const carol = await addAccount(store);
		const made = [];
		for (const expires_at of ends) made.push(await add(carol.id, { expires_at }));
		const start = await countEvents(store);
		assert.equal(await tokens.forgetExpired("2030-01-06T00:00:00.000Z"), 1);
		assert.deepEqual(
			(await tokens.list(carol.id, "", 10)).map(({ id }) => id),
			made.slice(1).map(({ id }) => id),
		);
		const scopes = [{ realm_ids: [""] }];
		const query = { scopes, realm: undefined, type: "rows.changed", actors: undefined };
		const [{ seq = 0, data = "" } = {}] = await store.audit.list(query, undefined, 1);
		assert.deepEqual([seq, JSON.parse(data).rows], [start + 1, `api_token/${made[0]?.id}`]);
	});

	test("no two tokens have the same digest, and a token belongs to an account and a realm that are there", async () => {
		const { digest } = await add();
		const start = await countEvents(store);
		await assert.rejects(add(ada.id, { digest }), refusals.unique);
		await assert.rejects(add("nobody"), refusals.reference);
		await assert.rejects(add(ada.id, { realm_id: "nowhere" }), refusals.reference);
		await assert.rejects(add(ada.id, { digest: Buffer.alloc(31) }), refusals.check);
		assert.equal(await countEvents(store), start);
	});
}
