import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openKeyring } from "../../crypto/keyring.ts";
import { createRowMacs } from "../../crypto/row-macs.ts";
import { FatalError } from "../../errors.ts";
import { KEY, openGuarded, transact } from "../../testing/guarded-rows.ts";
import { setMistyped } from "../../testing/mistyped.ts";
import { aDeletion, aLease, anEvent, aVersion } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { makeFolder, openTestStore } from "../../testing/store.ts";
import { createTestSystem } from "../../testing/system.ts";
import { tamperWith } from "../../testing/tamper.ts";
import { openWriter } from "./open.ts";
import { openChain, openTip } from "./tip.ts";

const system = createTestSystem();
const MACS = createRowMacs([KEY], system.randomBytes);

/** Values of types that their columns never have, and what the check says besides. */
const MISTYPED: readonly [table: string, column: string, sql: string, found: string][] = [
	["deleted_version", "value", "NULL", "the counts of realms"],
	["secret_version", "value", "NULL", "the counts of realms"],
	["lease", "engine", "7", "rows of lease"],
	["lease_count", "count", "NULL", "the counts of leases"],
	["lease_count", "count", "'many'", "the counts of leases"],
	["lease_count", "engine", "7", "the counts of leases"],
];

for (const [table, column, sql, found] of MISTYPED)
	test(`a ${column} of ${table} that is ${sql} is noticed, and an alteration elsewhere still is`, async (t) => {
		const { store, file } = await openTestStore(t);
		const { id: realm_id } = await addRealm(store, await addAccount(store));
		for (const key of ["KEY", "OTHER"]) await store.secrets.set(aVersion(realm_id, key), anEvent({ realm_id }));
		const name = { realm_id, environment: "dev", key: "KEY" } as const;
		assert.equal(await store.secrets.remove({ ...aDeletion(), ...name }, anEvent({ realm_id })), true);
		await store.leases.begin(aLease(realm_id), null, anEvent());
		assert.deepEqual(await store.checkIntegrity(), { access: [], content: [] });
		const otherWriter = openWriter(file);
		t.after(() => otherWriter.close());
		setMistyped(otherWriter, table, column, sql);
		otherWriter.exec("UPDATE secret SET version = 2");
		const { content } = await store.checkIntegrity();
		for (const fault of [found, "rows of secret"]) assert.ok(content.includes(fault), content.join());
	});

test("a key that is no bytes is damaged, and the start says so", async (t) => {
	const directory = await makeFolder(t);
	const open = () => openTestStore(t, directory, false);
	const keysOf = async () => {
		const { store } = await open();
		const keyring = openKeyring({ keys: store.keys, guard: store.guard, master: Buffer.alloc(32, 9), system });
		return keyring.finally(() => store.close());
	};
	await keysOf();
	const otherWriter = openWriter(join(directory, "svc.db"));
	setMistyped(otherWriter, "keyring", "wrapped", "1.5");
	otherWriter.close();
	await assert.rejects(keysOf(), (error) => error instanceof FatalError && /keyring is damaged/.test(error.message));
});

for (const data of [`'no facts "rows":"'`, "'null'", "NULL"])
	test(`rows are compared with the log also where an event has the facts ${data}, and a row roles that are none`, async (t) => {
		const { store, file } = await openTestStore(t);
		const { id } = await addAccount(store);
		await addRealm(store, { id });
		const otherWriter = openWriter(file);
		t.after(() => otherWriter.close());
		tamperWith(otherWriter, () => setMistyped(otherWriter, "audit_event", "data", `iif(seq = 2, ${data}, data)`));
		otherWriter.exec(
			`INSERT INTO api_token (id, user_id, name, prefix, digest, scopes, realm_id, engines, created_at)
				SELECT 'forged', '${id}', '', '', zeroblob(32), 'read', id, 'no list', '' FROM realm`,
		);
		const { differences } = await store.audit.compare();
		assert.deepEqual(
			differences.flatMap(({ kind, problem }) => (kind === "token" ? [problem] : [])),
			["unknown"],
		);
	});

for (const [table, column, value, found] of [
	["tip", "sealed", "NULL", "the tip"],
	["tip", "sealed", "'text'", "the tip"],
	["audit_event", "hash", "NULL", "the end of the audit log"],
	["audit_event", "hash", "7", "the end of the audit log"],
] as const)
	test(`a ${column} of ${table} that is ${value} at a start is an alteration with a name`, async (t) => {
		const { attacker, chain, keeper, writer } = await openGuarded(t);
		transact(writer, keeper, () => chain.append(anEvent()));
		tamperWith(attacker, () => setMistyped(attacker, table, column, value));
		const { altered } = openTip(attacker, openChain(attacker), MACS, true, () => assert.fail());
		assert.deepEqual(altered, [found]);
	});
