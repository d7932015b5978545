import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { AuditEvent } from "../../audit/model.ts";
import { aDeletion, aKey, anAccount, anEvent, aRealm, aToken, aVersion } from "../../testing/rows.ts";
import { makeFolder, trustAllRows } from "../../testing/store.ts";
import { auditLog } from "./audit-log.ts";
import { createBatches, type Operation, pack, unpack } from "./batch.ts";
import { writeEvent } from "./event-line.ts";
import { StorageFailure } from "./failure.ts";
import { migrate } from "./migrate.ts";
import { openReader, openWriter } from "./open.ts";
import { keepLog, openChain } from "./tip.ts";
import { allWrites, type Writes } from "./writes/all.ts";

/** Sets up the writer thread's parts on this thread, with one account and one realm; the operations of `broken` fail. */
async function setUp(t: TestContext) {
	const file = join(await makeFolder(t), "svc.db");
	const db = openWriter(file);
	migrate(db, "");
	trustAllRows(db);
	const chain = openChain(db);
	const broken = {
		/** Does half of its work, then throws `error`. */
		half(event: AuditEvent, error: Error) {
			db.prepare("INSERT INTO meta (name, value) VALUES ('half', '')").run();
			chain.append(event);
			throw error;
		},
	};
	const writes = { ...allWrites(db, chain.append), broken } as unknown as Writes;
	const reader = openReader(file);
	t.after(() => {
		reader.close();
		db.close();
	});
	const runBatch = createBatches(db, chain, writes, keepLog(chain));
	const run = (...operations: Operation[]) => {
		const { outcomes = [], tip } = runBatch(operations);
		return { outcomes, tip };
	};
	const owner = anAccount();
	const realm = aRealm(owner.id);
	run(["accounts", "register", owner, anEvent()], ["realms", "create", { realm, key: aKey(realm.id) }, anEvent()]);
	const total = (table: string) => reader.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
	return { db, chain, run, owner, realm, total, verify: () => auditLog(reader).verify([]) };
}

const isFatal = (code: string) => (error: unknown) => error instanceof StorageFailure && error.code === code;
const coded = (code: string) => Object.assign(new Error("CANARY"), { code });
const raise = (error: Error): never => {
	throw error;
};

const failsLate: Record<string, (realm_id: string) => Operation> = {
	"a reference to nobody": () => ["tokens", "create", aToken("nobody"), anEvent()],
	"a value of the wrong type": (realm_id) => [
		"secrets",
		"set",
		aVersion(realm_id, "k", { comment: undefined as never }),
		anEvent(),
	],
	"a failure after half of its rows": (realm_id) => [
		"keys",
		"rotate",
		{ key: aKey(realm_id, { state: "lost" as never }) },
		anEvent(),
	],
	"a failure after its event": () => ["broken", "half", anEvent(), new TypeError("broken")],
};

for (const [what, operation] of Object.entries(failsLate)) {
	test(`in a batch of 512, ${what} rolls back itself only, and the chain has no gap`, async (t) => {
		const { run, realm, chain, total, verify } = await setUp(t);
		const before = chain.tip().seq;
		const operations = Array.from({ length: 512 }, (_, index): Operation => {
			return ["secrets", "set", aVersion(realm.id, `key-${index}`), anEvent({ data: { index } })];
		});
		operations[300] = operation(realm.id);
		const { outcomes, tip } = run(...operations);
		assert.deepEqual(
			outcomes.flatMap((outcome, index) => ("done" in outcome ? [] : [index])),
			[300],
		);
		assert.ok("failed" in (outcomes[300] ?? {}));
		assert.deepEqual([total("secret"), total("secret_version"), total("api_token")], [511, 511, 0]);
		assert.deepEqual([total("meta"), total("keyring WHERE state = 'active'")], [0, 1]);
		assert.deepEqual(tip, chain.tip());
		assert.deepEqual(verify(), { status: "intact", events: before + 511, seq: undefined, last: tip });
	});
}

test("what an operation that failed says is its kind or the database's code, never the database's words", async (t) => {
	const { run } = await setUp(t);
	const { outcomes } = run(
		["broken", "half", anEvent(), coded("SQLITE_CONSTRAINT_CHECK")],
		["broken", "half", anEvent(), new TypeError("broken")],
	);
	assert.deepEqual(outcomes, [
		{ failed: { name: "Error", message: "SQLITE_CONSTRAINT_CHECK", code: "SQLITE_CONSTRAINT_CHECK" } },
		{ failed: { name: "TypeError", message: "broken", code: "" } },
	]);
});

test("outcomes are in the order of the operations", async (t) => {
	const { run, realm } = await setUp(t);
	const { outcomes } = run(
		["secrets", "set", aVersion(realm.id, "k"), anEvent()],
		writeEvent(anEvent()),
		["secrets", "set", aVersion(realm.id, "k"), anEvent()],
		["secrets", "remove", { ...aDeletion(), realm_id: realm.id, environment: "dev", key: "other" }, anEvent()],
	);
	assert.deepEqual(
		outcomes.map((outcome) => ("done" in outcome ? outcome.done : outcome)),
		[
			{ version: 1, created_at: anEvent().timestamp },
			undefined,
			{ version: 2, created_at: anEvent().timestamp },
			false,
		],
	);
});

test("a full disk rolls the whole batch back, and everything works once there is room", async (t) => {
	const { db, run, realm, chain, total, verify } = await setUp(t);
	const tip = chain.tip();
	const operations = Array.from({ length: 20 }, (_, index): Operation => {
		return ["secrets", "set", aVersion(realm.id, `key-${index}`, { value: Buffer.alloc(20_000) }), anEvent()];
	});
	const pages = db.pragma("page_count", { simple: true }) as number;
	const codes: unknown[] = [];
	for (const room of [0, 7, 40]) {
		db.pragma(`max_page_count = ${pages + room}`);
		codes.push(...run(...operations).outcomes);
		assert.deepEqual(chain.tip(), tip);
		assert.deepEqual([total("secret"), total("secret_version"), db.inTransaction], [0, 0, false]);
	}
	assert.deepEqual(
		codes,
		Array.from({ length: 60 }, () => ({ full: true })),
	);
	db.pragma("max_page_count = 100000");
	assert.ok(run(...operations).outcomes.every((outcome) => "done" in outcome));
	assert.deepEqual([total("secret"), verify().status], [20, "intact"]);
});

test("a disk that is full for one operation is full for its whole batch", async (t) => {
	const { run, realm, chain, total } = await setUp(t);
	const tip = chain.tip();
	const good: Operation = ["secrets", "set", aVersion(realm.id, "k"), anEvent()];
	const { outcomes } = run(good, ["broken", "half", anEvent(), coded("SQLITE_FULL")], good);
	assert.deepEqual(outcomes, [{ full: true }, { full: true }, { full: true }]);
	assert.deepEqual([total("secret"), total("meta"), chain.tip()], [0, 0, tip]);
});

test("a disk that fills up under an event without a change rolls the batch back, too", async (t) => {
	const { db, run, chain } = await setUp(t);
	const tip = chain.tip();
	db.pragma(`max_page_count = ${db.pragma("page_count", { simple: true })}`);
	const operations = Array.from({ length: 1000 }, (): Operation => writeEvent(anEvent()));
	const { outcomes } = run(...operations);
	assert.ok(outcomes.every((outcome) => "full" in outcome));
	assert.deepEqual(chain.tip(), tip);
});

const FATAL = [
	"IOERR_WRITE",
	"IOERR_FSYNC",
	"IOERR",
	"CORRUPT",
	"CORRUPT_INDEX",
	"NOTADB",
	"CANTOPEN",
	"READONLY",
	"NOMEM",
];
for (const name of FATAL) {
	test(`SQLITE_${name} in one operation ends everything and keeps nothing`, async (t) => {
		const { run, realm, chain, total, verify } = await setUp(t);
		const tip = chain.tip();
		const bad: Operation = ["broken", "half", anEvent(), coded(`SQLITE_${name}`)];
		const good: Operation = ["secrets", "set", aVersion(realm.id, "k"), anEvent()];
		assert.throws(() => run(good, bad, good), isFatal(`SQLITE_${name}`));
		assert.deepEqual([total("secret"), total("meta"), verify().status], [0, 0, "intact"]);
		assert.deepEqual(chain.tip(), tip);
	});
}

test("a sync that fails when the batch is committed ends everything, and the words of the driver are not repeated", async (t) => {
	const { db, chain, realm } = await setUp(t);
	const failing = new Proxy(db, {
		get(target, name) {
			if (name === "prepare") {
				return (sql: string) => {
					const statement = target.prepare(sql);
					if (sql === "COMMIT") statement.run = () => raise(coded("SQLITE_IOERR_FSYNC"));
					return statement;
				};
			}
			const value: unknown = Reflect.get(target, name);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
	const tip = chain.tip();
	const operation: Operation = ["secrets", "set", aVersion(realm.id, "k"), anEvent()];
	assert.throws(
		() => createBatches(failing, chain, allWrites(db, chain.append), keepLog(chain))([operation]),
		(error) => isFatal("SQLITE_IOERR_FSYNC")(error) && !String(error).includes("CANARY"),
	);
	assert.deepEqual([db.inTransaction, chain.tip()], [false, tip]);
});

test("an operation that does not exist ends everything: the two sides are not of one program", async (t) => {
	const { run, total, realm } = await setUp(t);
	const good: Operation = ["secrets", "set", aVersion(realm.id, "k"), anEvent()];
	for (const unknown of [
		["nouns", "set"],
		["secrets", "verb"],
	] as const) {
		assert.throws(() => run(good, [...unknown]), StorageFailure, unknown.join("."));
	}
	assert.equal(total("secret"), 0);
});

test("a batch of nothing but events says so in one word, and an empty one is harmless", async (t) => {
	const { db, chain, run, total } = await setUp(t);
	const before = Number(total("audit_event"));
	const runBatch = createBatches(db, chain, allWrites(db, chain.append), keepLog(chain));
	const event = writeEvent(anEvent({ data: { text: "ключ 🔑 \ud800", none: undefined } }));
	assert.deepEqual(runBatch([event, event]), { count: 2, outcomes: undefined, tip: chain.tip() });
	assert.equal(total("audit_event"), before + 2);
	assert.deepEqual(run(), { outcomes: [], tip: chain.tip() });
});

test("operations are the same after they were packed for the way, and events that follow each other are one text", () => {
	const event = (text: string) => writeEvent(anEvent({ data: { text } }));
	const [a, b, c] = [event("a\nb\r\n\u2028"), event(""), event("🔑")] as const;
	const operation: Operation = ["health", "probe", "a\nb"];
	const sequences = [[], [a], [a, b, c], [operation], [a, operation, b, c, operation, operation, a], [operation, a, b]];
	for (const sequence of sequences) assert.deepEqual(unpack(pack(sequence)), sequence);
	assert.equal(pack([a, b, operation, c, a]).length, 3);
});
