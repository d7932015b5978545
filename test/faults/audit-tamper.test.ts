import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import { runLocal } from "../backup/local.ts";
import { ok, refused } from "../harness/expect.ts";
import { setSecret } from "./kept-secret.ts";
import { newOwner, type Owner } from "./owner.ts";
import { plainApi } from "./plain-api.ts";
import { runServer } from "./process.ts";

/** The result of a verification. Design: §10. */
interface Report {
	readonly status: string;
	readonly message: string;
	readonly last_seq: number;
	readonly last_hash: string;
}

/** The event that the tests tamper with. */
const VICTIM = 5;

/** Type of events that grant nothing. */
const GRANTS_NOTHING = "secret.set";

const root = mkdtempSync(join(tmpdir(), "svc-tamper-"));
const honest = join(root, "honest");
let owner: Owner;
/** The end of the chain as an outsider keeps it. */
let outside: Report;

before(async () => {
	spawnSync("mkdir", ["-m", "700", honest]);
	const run = await runServer({ data: honest });
	const api = plainApi(run.url);
	owner = await newOwner(api);
	for (let write = 0; write < 6; write += 1) ok(await setSecret(api, owner, `key-${write}`, "value"), 201);
	outside = ok(await api.get<Report>("/audit/verify", { token: owner.admin.token }));
	assert.equal(outside.status, "intact");
	assert.equal((await run.kill("SIGTERM")).code, 0);
});
after(() => rmSync(root, { recursive: true }));

const INSERT_COPY = `INSERT INTO audit_event SELECT $seq, timestamp, type, actor, realm_id, realm, data, hash FROM audit_event`;

/** Changes made with a database tool that leave the end of the log as it was, and the number of the event that verification must name. */
const ATTACKS: Record<string, { sql: string; names: number }> = {
	...Object.fromEntries(
		["timestamp", "type", "actor", "realm_id", "realm", "data"].map((column) => [
			`one character more in ${column}`,
			{ sql: `UPDATE audit_event SET ${column} = ${column} || ' ' WHERE seq = ${VICTIM}`, names: VICTIM },
		]),
	),
	"a character moved from one field to the next": {
		sql: `UPDATE audit_event SET actor = actor || substr(data, 1, 1), data = substr(data, 2) WHERE seq = ${VICTIM}`,
		names: VICTIM,
	},
	"another hash": { sql: `UPDATE audit_event SET hash = zeroblob(32) WHERE seq = ${VICTIM}`, names: VICTIM },
	"an event deleted": { sql: `DELETE FROM audit_event WHERE seq = ${VICTIM}`, names: VICTIM },
	"the first event deleted": { sql: "DELETE FROM audit_event WHERE seq = 1", names: 1 },
	"two events exchanged": {
		sql: `UPDATE audit_event SET seq = -1 WHERE seq = ${VICTIM}; UPDATE audit_event SET seq = ${VICTIM} WHERE seq = ${VICTIM + 1};
			UPDATE audit_event SET seq = ${VICTIM + 1} WHERE seq = -1`,
		names: VICTIM,
	},
};

for (const [attack, { sql, names }] of Object.entries(ATTACKS)) {
	test(`${attack}: verification says altered and names the event`, async () => {
		const report = await verifyAfter((database) => database.exec(sql));
		assert.equal(report.status, "altered");
		assert.match(report.message, new RegExp(`\\b${names}\\b`));
	});
}

/** Changes that leave another end of the log than the server did. */
const AT_THE_END: Record<string, { sql: string; names: (last: number) => number }> = {
	"an event deleted and the gap closed": {
		sql: `DELETE FROM audit_event WHERE seq = ${VICTIM}; UPDATE audit_event SET seq = seq - 1 WHERE seq > ${VICTIM}`,
		names: () => VICTIM,
	},
	"an event inserted": {
		sql: `UPDATE audit_event SET seq = -seq WHERE seq >= ${VICTIM}; UPDATE audit_event SET seq = 1 - seq WHERE seq < 0;
			${INSERT_COPY.replace("$seq", String(VICTIM))} WHERE seq = 1`,
		names: () => VICTIM,
	},
	"an event added at the end": {
		sql: `${INSERT_COPY.replace("$seq", "seq + 1")} ORDER BY seq DESC LIMIT 1`,
		names: (last) => last + 1,
	},
};

for (const [attack, { sql, names }] of Object.entries(AT_THE_END)) {
	test(`${attack}: the server believes nothing, and an adoption names the event`, async () => {
		let last = 0;
		const data = tamperedCopy((database) => {
			last = Number(database.prepare("SELECT max(seq) AS last FROM audit_event").get()?.last);
			database.exec(sql);
		});
		const said = await refusedThenAdopted(data);
		assert.match(said, new RegExp(`altered .*event ${names(last)}\\b`, "m"));
	});
}

test("a change with every later hash recomputed is found by the tip, then by the signed checkpoints", async () => {
	const data = tamperedCopy((database) => rewriteHistory(database, GRANTS_NOTHING));
	assert.match(await refusedThenAdopted(data), /altered .*event \d/);
	assert.equal(ok(await verified(data)).status, "altered");
});

test("a recomputed chain without its checkpoints is found by the tip, then by a checkpoint kept outside", async () => {
	const data = tamperedCopy((database) => {
		rewriteHistory(database, GRANTS_NOTHING);
		database.exec("DELETE FROM audit_checkpoint");
	});
	const said = await refusedThenAdopted(data);
	assert.doesNotMatch(said, /(?:altered|truncated) .*event \d/, "nothing else inside the database shows it");
	assert.equal(ok(await verified(data)).status, "intact", "it was adopted");
	assert.equal(ok(await verified(data, keptOutside())).status, "altered");
});

test("a recomputed chain without its checkpoints and without an event that granted something is found by the rows, too", async () => {
	const data = tamperedCopy((database) => {
		rewriteHistory(database, "realm.created");
		database.exec("DELETE FROM audit_checkpoint");
	});
	assert.match(await refusedThenAdopted(data), /: realm /);
	assert.equal(ok(await verified(data)).status, "rows_differ");
});

test("events cut off at the end are found by the tip, then by the signed checkpoints", async () => {
	const data = tamperedCopy((database) => database.exec(`DELETE FROM audit_event WHERE seq > ${VICTIM}`));
	// The server that refused has added one of its own, which says so.
	assert.match(await refusedThenAdopted(data), new RegExp(`truncated .*event ${VICTIM + 2}\\b`, "m"));
});

test("events cut off together with their checkpoints are found by the tip, then by a checkpoint kept outside", async () => {
	const cut = `DELETE FROM audit_event WHERE seq > ${VICTIM}; DELETE FROM audit_checkpoint`;
	const data = tamperedCopy((database) => database.exec(cut));
	await refusedThenAdopted(data);
	assert.equal(ok(await verified(data, keptOutside())).status, "altered");
});

test("a checkpoint that the server did not sign is found", async () => {
	const report = await verifyAfter((database) => database.exec("UPDATE audit_checkpoint SET signature = zeroblob(64)"));
	assert.equal(report.status, "altered");
});

test("an untouched log with a checkpoint kept outside is intact", async () => {
	const report = await verifyAfter(() => undefined, keptOutside());
	assert.equal(report.status, "intact");
});

/** The query of a verification against the checkpoint that an outsider kept. */
function keptOutside(): string {
	return `?seq=${outside.last_seq}&hash=${outside.last_hash}`;
}

/** Tampers with a copy of the honest data directory. */
function tamperedCopy(tamper: (database: DatabaseSync) => void): string {
	const data = mkdtempSync(join(root, "tampered-"));
	assert.equal(spawnSync("cp", ["-a", `${honest}/.`, data]).status, 0);
	const database = new DatabaseSync(join(data, "svc.db"));
	tamperWith(database, tamper);
	database.close();
	return data;
}

/** Starts a server on a data directory and asks for a verification. */
async function verified(data: string, query = "") {
	const run = await runServer({ data });
	try {
		return await plainApi(run.url).get<Report>(`/audit/verify${query}`, { token: owner.admin.token });
	} finally {
		await run.kill("SIGKILL");
	}
}

async function verifyAfter(tamper: (database: DatabaseSync) => void, query = ""): Promise<Report> {
	return ok(await verified(tamperedCopy(tamper), query));
}

/** Sees a server refuse a data directory whose log has another end, and adopts it. @returns what the adoption showed */
async function refusedThenAdopted(data: string): Promise<string> {
	refused(await verified(data), 503, "database_altered");
	const { code, stderr } = await runLocal(data, ["adopt", "--again", "--yes"]);
	assert.equal(code, 0, stderr);
	assert.match(stderr, /the end of the audit log$/m);
	return stderr;
}

/** Changes an event as an expert in the format would, so that the chain itself is right again. */
function rewriteHistory(database: DatabaseSync, type: string): void {
	database.exec(
		`UPDATE audit_event SET type = 'auth.logout' WHERE seq = (SELECT min(seq) FROM audit_event WHERE type = '${type}')`,
	);
	const update = database.prepare("UPDATE audit_event SET hash = ? WHERE seq = ?");
	let previous = Buffer.alloc(32);
	for (const event of database.prepare("SELECT * FROM audit_event ORDER BY seq").all()) {
		const fields = [event.timestamp, event.type, event.actor, event.realm_id, event.realm, event.data].map(String);
		const framed = fields.map((field) => `${Buffer.byteLength(field)}:${field}`).join("");
		const text = `svc-audit-v1\n${event.seq}\n${previous.toString("hex")}\n${framed}`;
		previous = createHash("sha256").update(text).digest();
		update.run(previous, Number(event.seq));
	}
}
