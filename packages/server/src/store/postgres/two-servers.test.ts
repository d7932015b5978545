/* Two servers that share one database of a real PostgreSQL, without a cache in front of it. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import type { Maker } from "../../policy/model.ts";
import { countEvents, eventsAfter, isChainIntact } from "../../testing/events.ts";
import { aBinding, anAccount, anEvent, aToken, aVersion, MADE_AT, newId, reportNoKeys } from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import { until } from "../../testing/until.ts";
import type { Store } from "../store.ts";
import { openPostgresTestPair } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Opens two stores on a new database, with a realm and a member in it. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const { here, there, runSql } = await openPostgresTestPair(t, await server);
	const [owner, member] = [await addAccount(here), await addAccount(here)];
	const realm = await addRealm(here, owner);
	await addBinding(here, realm, member, "viewer");
	return { here, there, owner, member, realm, runSql };
}

test("changes made in turn continue one chain, and each server sees them immediately", options, async (t) => {
	const { here, there, realm } = await setUp(t);
	const start = await countEvents(here);
	for (let turn = 1; turn <= 10; turn++) {
		const [writer, reader] = turn % 2 === 0 ? [here, there] : [there, here];
		const written = await writer.secrets.set(aVersion(realm.id, "KEY"), anEvent());
		assert.partialDeepStrictEqual(written, { version: turn });
		assert.equal((await reader.secrets.get(realm.id, "dev", "KEY"))?.version, turn);
		assert.equal(await countEvents(reader), start + turn);
	}
	for (const store of [here, there]) {
		assert.ok(await isChainIntact(store));
		assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
	}
});

test("changes made at the same time continue one chain", options, async (t) => {
	const { here, there, realm } = await setUp(t);
	const written = await Promise.all(
		Array.from({ length: 40 }, (_, index) =>
			(index % 2 === 0 ? here : there).secrets.set(aVersion(realm.id, "KEY"), anEvent()),
		),
	);
	const versions = written.map((one) => (typeof one === "object" ? one.version : 0));
	assert.deepEqual(
		versions.toSorted((one, other) => one - other),
		Array.from({ length: 40 }, (_, index) => index + 1),
	);
	assert.ok(await isChainIntact(there));
	assert.deepEqual(await here.checkIntegrity(), { access: [], content: [] });
});

test("what one server takes away is gone on the other with the answer", options, async (t) => {
	const { here, there, realm, member } = await setUp(t);
	const token = aToken(member.id);
	await here.tokens.create(token, anEvent());
	assert.notEqual(await there.tokens.owner(token.digest), undefined);
	await here.tokens.revoke({ id: token.id, user_id: member.id }, anEvent());
	assert.equal(await there.tokens.owner(token.digest), undefined);
	assert.equal((await there.realms.access(realm.slug, member.id))?.role, "viewer");
	await here.policy.unbind({ realm_id: realm.id, user_id: member.id }, anEvent());
	assert.equal((await there.realms.access(realm.slug, member.id))?.role, null);
	await there.policy.bind(aBinding(realm.id, member.id, { role: "admin" }), anEvent());
	assert.equal((await here.realms.access(realm.slug, member.id))?.role, "admin");
});

test("a server continues no end of the log that it remembers", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	await there.accounts.register(anAccount(), anEvent());
	await here.accounts.register(anAccount(), anEvent());
	await runSql("DELETE FROM svc.tip WHERE id = (SELECT max(id) FROM svc.tip)");
	const late = anAccount();
	await there.accounts.register(late, anEvent());
	assert.deepEqual(await there.health.alterations(), ["the end of the audit log"]);
	assert.equal(await there.accounts.byId(late.id), undefined);
});

/** Appends the event of a read, as a rule does before it answers. @returns "done" or the error's code */
const read = (store: Store, maker: Maker, realm_id: string) =>
	store.audit.append(anEvent({ type: "secret.read", realm_id, maker, data: { request_id: "r", key: "KEY" } })).then(
		() => "done",
		({ code }: { code: string }) => code,
	);

test("a read is not answered when another server has revoked its token meanwhile", options, async (t) => {
	const { here, there, realm, member } = await setUp(t);
	const token = aToken(member.id);
	await here.tokens.create(token, anEvent());
	const maker: Maker = { user_id: member.id, jti: undefined, token_id: token.id, grants: [] };
	assert.equal(await read(there, maker, realm.id), "done");
	await here.tokens.revoke({ id: token.id, user_id: member.id }, anEvent());
	const start = await countEvents(there);
	assert.equal(await read(there, maker, realm.id), "unauthorized");
	assert.equal(await countEvents(there), start);
});

test(
	"a read is not answered when another server has removed its role meanwhile, as the log says",
	options,
	async (t) => {
		const { here, there, realm, member } = await setUp(t);
		const token = aToken(member.id);
		await here.tokens.create(token, anEvent());
		const grants: Maker["grants"] = [{ realm_id: realm.id, capability: "secrets:read", isAdminOnly: false }];
		const maker: Maker = { user_id: member.id, jti: undefined, token_id: token.id, grants };
		assert.equal(await read(there, maker, realm.id), "done");
		await here.policy.unbind({ realm_id: realm.id, user_id: member.id }, anEvent());
		const start = await countEvents(there);
		assert.equal(await read(there, maker, realm.id), "not_found");
		const facts = { wanted: "secrets:read", reason: "not_found", request_id: "r" };
		assert.deepEqual(await eventsAfter(there, start, [realm.id]), [["access.denied", facts]]);
		assert.ok(await isChainIntact(here));
	},
);

test("servers list one another while they live", options, async (t) => {
	const { here, there, runSql } = await setUp(t);
	const [one, other] = ["one", "other"].map((name) => ({
		...{ id: newId(), name, version: "0.1.0", address: `https://${name}`, started_at: MADE_AT },
	}));
	assert.ok(one && other);
	await here.join(one, reportNoKeys);
	await there.join(other, reportNoKeys);
	const list = async () => (await here.nodes()).map(({ name, status }) => [name, status]);
	assert.deepEqual(await list(), [
		["one", "active"],
		["other", "active"],
	]);
	const statusOf = async (name: string) => (await list()).find(([found]) => found === name)?.[1];
	// Until its next sign of life.
	do await runSql("UPDATE svc.node SET seen_at = seen_at - interval '11 s' WHERE name = 'other'");
	while ((await statusOf("other")) !== "silent");
	await until(async () => (await statusOf("other")) === "active");
	await runSql("DELETE FROM svc.node WHERE name = 'one'");
	await until(async () => (await statusOf("one")) === "active");
	await there.close();
	assert.deepEqual(await list(), [["one", "active"]]);
});
