import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { type Postgres, skipWithoutPostgres, startPostgres } from "../../../../../test/peers/postgres.ts";
import { keySetOf } from "../../audit/key-parts.ts";
import { addLease } from "../../testing/leases.ts";
import {
	aConfig,
	aDeletion,
	aFactor,
	aLease,
	anEvent,
	anInvitation,
	aResetCode,
	aSession,
	aVersion,
	newId,
	recoveryCodes,
} from "../../testing/rows.ts";
import { addAccount, addBinding, addRealm } from "../../testing/rules.ts";
import { makeFolder, openTestStore, ROW_KEY } from "../../testing/store.ts";
import { openReader } from "../sqlite/open.ts";
import { markRestored } from "../sqlite/restored.ts";
import { openSnapshot } from "../sqlite/snapshots.ts";
import type { Store } from "../store.ts";
import { openPostgresTestStore, runSql } from "./testing.ts";

const options = { skip: skipWithoutPostgres };
let server: Promise<Postgres> | undefined;
after(async () => (await server)?.stop());

/** Opens a store with rows of many kinds. */
async function setUp(t: TestContext) {
	server ??= startPostgres();
	const running = await server;
	const { store, database } = await openPostgresTestStore(t, running);
	const [owner, member] = [await addAccount(store), await addAccount(store)];
	const realm = await addRealm(store, owner);
	await addBinding(store, realm, member, "viewer");
	const [kept, ended] = [aSession(member.id), aSession(member.id)];
	for (const session of [kept, ended]) await store.accounts.openSession({ session, password: "a hash" }, anEvent());
	await store.accounts.closeSession(ended.jti, anEvent());
	await store.resets.make(aResetCode(owner.id), anEvent());
	await store.invitations.make(anInvitation(owner.id), anEvent());
	const factor = aFactor(member.id);
	await store.factors.add({ factor, owner: { user_id: member.id, password: "a hash", proof: undefined } }, anEvent());
	const confirmed = {
		id: factor.id,
		user_id: member.id,
		step: 1,
		since: "",
		keep: kept.jti,
		codes: recoveryCodes(member.id),
	};
	await store.factors.confirm(confirmed, anEvent());
	for (const key of ["A", "B", "C"]) await store.secrets.set(aVersion(realm.id, key), anEvent());
	await store.secrets.set(aVersion(realm.id, "A", { pre_encrypted: true }), anEvent());
	await store.secrets.remove({ ...aDeletion(), realm_id: realm.id, environment: "dev", key: "C" }, anEvent());
	const config = aConfig();
	await store.engines.setConfig(config, anEvent());
	await addLease(store, "active", aLease(realm.id, { config_id: config.id }));
	await addLease(store, "revoked", aLease(realm.id, { config_id: config.id }));
	const set = keySetOf(["A", "B"]);
	const data = { environment: "dev", key_set: set.hash };
	await store.audit.appendNaming(set, anEvent({ type: "secret.list", realm_id: realm.id, data }));
	for (const maker of [{ token_id: newId() }, { session_id: ended.jti }])
		await store.audit.append(anEvent({ type: "secret.set", actor: member.id, data: { request_id: "1", ...maker } }));
	return { store, member, realm, runSql: (text: string) => runSql(running, database, text) };
}

/** Takes a copy, and opens it as a backup is opened. */
async function copyOf(t: TestContext, store: Store) {
	const folder = await makeFolder(t);
	const file = join(folder, "svc.db");
	writeFileSync(file, "", { mode: 0o600 });
	await store.copyTo(file);
	const copy = openSnapshot(file);
	t.after(() => copy.close());
	return { folder, copy };
}

test("SQLite finds a copy sound: rows, sums and tip fit the same keys, and the log is whole", options, async (t) => {
	const { store } = await setUp(t);
	const { copy } = await copyOf(t, store);
	assert.deepEqual(await copy.checkIntegrity([ROW_KEY]), { access: [], content: [] });
	assert.deepEqual(await copy.inspect(), []);
	const { last_hash, schema_problem } = await copy.facts();
	assert.deepEqual([last_hash, schema_problem], [(await store.audit.head()).hash, ""]);
	assert.equal((await copy.audit.verify([])).status, "intact");
});

test("SQLite continues from a copy and never reuses a secret's number", options, async (t) => {
	const { store, member, realm, runSql } = await setUp(t);
	// As if those before it had been purged.
	await runSql("SELECT setval('svc.secret_id', 1000)");
	const { folder } = await copyOf(t, store);
	const moved = await openTestStore(t, folder);
	assert.deepEqual(await moved.store.health.alterations(), []);
	assert.deepEqual(await moved.store.accounts.byId(member.id), await store.accounts.byId(member.id));
	assert.deepEqual(await moved.store.audit.head(), await store.audit.head());
	await moved.store.secrets.set(aVersion(realm.id, "D"), anEvent());
	const { copy } = await copyOf(t, moved.store);
	const { rows } = await copy.sealed("values", 0);
	const added = rows.find(({ key }) => key === "D");
	assert.partialDeepStrictEqual(added, { secret_id: 1001 });
});

test("rows and log are compared as SQLite compares them in a copy", options, async (t) => {
	const { store, member, runSql } = await setUp(t);
	await runSql(`DELETE FROM svc.session; UPDATE svc.binding SET role = 'admin'; DELETE FROM svc.engine_config;
		UPDATE svc.account SET instance_admin = true WHERE id = '${member.id}'; DELETE FROM svc.recovery_codes; UPDATE svc.keyring SET state = 'retired'`);
	const { copy } = await copyOf(t, store);
	const sorted = async (comparison: ReturnType<Store["audit"]["compare"]>) => {
		const { differences, ...rest } = await comparison;
		return { differences: differences.map((one) => JSON.stringify(one)).toSorted(), ...rest };
	};
	const found = await sorted(store.audit.compare());
	assert.deepEqual(found, await sorted(copy.compare([ROW_KEY])));
	const kinds = new Set(found.differences.map((text) => (JSON.parse(text) as { kind: string }).kind));
	assert.deepEqual(
		found.strange.map(({ kind, problem }) => [kind, problem]),
		[
			["token", "unknown"],
			["session", "ended"],
		],
	);
	for (const kind of ["session", "binding", "engine", "account", "recovery", "key"]) assert.ok(kinds.has(kind), kind);
});

test("a copy that was restored begins another era, which another program does not end", options, async (t) => {
	const { store, runSql } = await setUp(t);
	const file = join(await makeFolder(t), "copy.db");
	writeFileSync(file, "");
	await store.copyTo(file);
	assert.equal(await store.backups.era(), "");
	markRestored(file, { name: "a backup", restored_at: "2030-01-02T00:00:00.000Z", epoch: 1, events: 1 }, [ROW_KEY]);
	const copy = openReader(file);
	t.after(() => copy.close());
	const row = copy.prepare("SELECT * FROM meta WHERE name = 'era'").get() as { value: string; mac: Buffer };
	assert.equal(row.value, "2030-01-02T00:00:00.000Z");
	const { value, mac } = row;
	await runSql(`INSERT INTO svc.meta VALUES ('era', '${value}', '\\x${mac.toString("hex")}')`);
	assert.equal(await store.backups.era(), value);
	await runSql("UPDATE svc.meta SET value = '2030' WHERE name = 'era'");
	assert.equal(await store.backups.era(), "");
});
