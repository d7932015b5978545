import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createConfigSealer } from "../engines/config/sealed-config.ts";
import { sealValue } from "../secrets/value.ts";
import { createSemaphore } from "../semaphore.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { openSnapshot } from "../store/sqlite/snapshots.ts";
import { aConfig, aLease, anEvent, aVersion } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { createOpeners } from "../wiring/backups.ts";
import { checkSealed, type SealedNeeds } from "./sealed.ts";

const rules = await openTestRules({ after });
const { store, keyring, system, file } = rules;
const owner = await addAccount(store);
const realm = await addRealm(store, owner, { keyring });
const sealer = createConfigSealer(rules);

const logged: [string, number | undefined][] = [];
const needs = {
	keyring,
	openers: createOpeners(keyring, system),
	oneAtATime: createSemaphore(1).run,
	openDatabase: () => openSnapshot(file),
	log: (_level, event, fields) => void logged.push([event, fields?.count]),
} satisfies SealedNeeds;
const look = async () =>
	(await checkSealed(needs, new AbortController().signal)).map(({ status, message }) => `${status} ${message}`);

async function set(key: string, text = "a value that nobody sees"): Promise<void> {
	const row = aVersion(realm.id, key);
	assert.equal(
		typeof (await store.secrets.set({ ...row, value: await sealValue(rules, row, text) }, anEvent())),
		"object",
	);
}

/** Writes into the file as another program does, and undoes it after the work. */
async function altered(table: string, set: string, work: () => Promise<void>): Promise<void> {
	const db = openWriter(file);
	db.exec(`CREATE TEMP TABLE kept AS SELECT rowid AS at, * FROM main.${table}`);
	const [column = ""] = set.split(" ");
	db.exec(`UPDATE ${table} SET ${set}`);
	await work();
	db.exec(`UPDATE ${table} SET ${column} = (SELECT ${column} FROM temp.kept WHERE kept.id = ${table}.id)`);
	db.close();
}

const spoilt = (column: string) => `${column} = CAST(${column} || x'00' AS BLOB)`;

test("every sealed row opens, however many there are", async () => {
	for (const key of ["DB_URL", "DB_URL", "API_KEY"]) await set(key);
	const config = aConfig({ engine: "keyvalue" });
	await store.engines.setConfig(await sealer.seal(config, { password: "hunter2" }), anEvent());
	const lease = aLease(realm.id, { engine: "keyvalue", config_id: config.id });
	assert.equal(await store.leases.begin(lease, null, anEvent()), "done");
	const payload = await sealer.sealPayload(lease.id, { name: "hunter2" });
	await store.leases.activate({ ...lease, due_at: 1, payload }, anEvent());
	const keys = (await store.keys.all()).length;
	assert.match((await look()).join(), new RegExp(`^ok .*\\b${5 + keys}\\b`));
	for (let count = 0; count < 1200; count++) await set(`MANY_${count}`, "x");
	assert.match((await look()).join(), new RegExp(`^ok .*\\b${1205 + keys}\\b`));
	assert.deepEqual(logged, []);
});

test("what does not open is named, and nothing of it is shown", async () => {
	const failed = async (name: string) => {
		const [line = "", ...others] = await look();
		assert.ok(line.startsWith(`failed ${name} `), line);
		assert.deepEqual(others, []);
	};
	const first = `secret ${realm.slug}/dev DB_URL version 1`;
	await altered("secret_version", `${spoilt("value")} WHERE rowid = 1`, () => failed(first));
	await altered("engine_config", spoilt("sealed"), () => failed("the configuration of keyvalue for all realms"));
	await altered("lease", spoilt("payload"), async () =>
		assert.match((await look()).join(), /^failed .*\blease \S+ of keyvalue\b/),
	);
	await altered("secret_version", spoilt("value"), async () => {
		const found = await look();
		assert.equal(found.length, 21);
		assert.match(found.at(-1) ?? "", new RegExp(`^failed ${1203 - 20} `));
	});
	assert.match((await look()).join(), /^ok /);
});

test("a row that does not open is named, whatever number another program gave it", async () => {
	await set("BELOW_ZERO");
	await altered("secret_version", spoilt("value"), async () => {
		const db = openWriter(file);
		db.exec("UPDATE secret_version SET rowid = -rowid");
		db.close();
		assert.match((await look())[0] ?? "", /^failed secret /);
		const back = openWriter(file);
		back.exec("UPDATE secret_version SET rowid = -rowid");
		back.close();
	});
});

test("a key of the keyring that does not open is named", async () => {
	const db = openWriter(file);
	db.exec(`UPDATE keyring SET ${spoilt("wrapped")} WHERE purpose = 'cursor'`);
	db.close();
	assert.match((await look()).join(), /^failed key [0-9a-f]{16} .*\(cursor\)/);
});
