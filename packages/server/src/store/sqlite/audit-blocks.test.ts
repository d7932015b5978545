import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import Database from "better-sqlite3";
import type { Chain } from "../../audit/chain.ts";
import { anEvent, aRealm, MADE_AT } from "../../testing/rows.ts";
import { trustAllRows } from "../../testing/store.ts";
import { areBlocksSound } from "./audit-block-check.ts";
import { BLOCK, blockWriter, keyHash, partTerm, SEGMENT, TERM, termsOf } from "./audit-blocks.ts";
import { auditDays } from "./audit-days.ts";
import { auditLog } from "./audit-log.ts";
import { auditPostings } from "./audit-postings.ts";
import { migrate } from "./migrate.ts";
import { limitTime } from "./time-limit.ts";
import { openChain } from "./tip.ts";

let db: Database.Database;
let chain: Chain;
beforeEach(() => {
	db = new Database(":memory:");
	migrate(db, MADE_AT);
	limitTime(db);
	chain = openChain(db);
});

const dayOf = (day: number) => new Date(Date.UTC(2030, 0, day)).toISOString();

/** Appends events, each of its own day; every third is of token `t`, and every hundredth names key `K`. */
function append(count: number): void {
	for (let left = count; left > 0; left--) {
		const seq = chain.tip().seq + 1;
		const data = { ...(seq % 3 === 0 && { token_id: "t" }), ...(seq % 100 === 0 && { key: "K" }) };
		chain.append(anEvent({ timestamp: dayOf(seq), realm: "shop", data }));
	}
}

/** Adds all blocks that are complete. */
function addBlocks(): void {
	const writer = blockWriter(db);
	while (writer.due <= chain.tip().seq) writer.add(chain.tip().seq);
}

const blocks = () => db.prepare("SELECT block FROM audit_block ORDER BY block").pluck().all();
const numbers = (from: number, to: number, isOf: (seq: number) => boolean) =>
	Array.from({ length: to - from }, (_, at) => to - 1 - at).filter(isOf);

test("a block is added with its last event, in one transaction or over several, and never twice", () => {
	const { add } = blockWriter(db);
	append(BLOCK - 2);
	add(chain.tip().seq);
	assert.deepEqual(blocks(), []);
	append(1);
	add(chain.tip().seq);
	assert.deepEqual(blocks(), [0]);
	append(2 * BLOCK);
	add(chain.tip().seq);
	add(chain.tip().seq);
	blockWriter(db).add(chain.tip().seq);
	assert.deepEqual(blocks(), [0, 1, 2]);
	assert.ok(areBlocksSound(db));
});

test("a block of a transaction that is rolled back is added later", () => {
	const { add } = blockWriter(db);
	db.exec("BEGIN");
	append(BLOCK);
	add(chain.tip().seq);
	db.exec("ROLLBACK");
	chain.rewind({ seq: 0, hash: Buffer.alloc(32) });
	append(3 * BLOCK);
	add(chain.tip().seq);
	assert.deepEqual(blocks(), [0, 1, 2]);
});

test("events are found by their terms in blocks and behind them, wherever the walk begins", () => {
	append(3 * BLOCK + 50);
	blockWriter(db).add(chain.tip().seq);
	append(100);
	const end = chain.tip().seq + 1;
	const { walk } = auditPostings(db);
	const isOfToken = (seq: number) => seq % 3 === 0;
	const isOfBoth = (seq: number) => seq % 3 === 0 || seq % 100 === 0;
	for (const below of [Number.MAX_SAFE_INTEGER, end, end - 120, 3 * BLOCK, 2 * BLOCK + 1, 2 * BLOCK - 7, 1]) {
		const all = (isOf: (seq: number) => boolean) => numbers(1, Math.min(below, end), isOf);
		assert.deepEqual([...walk(["token t"], below)], all(isOfToken));
		assert.deepEqual([...walk(["token t", "key shop/K", "key other/K"], below)], all(isOfBoth));
	}
	assert.deepEqual([...walk(["token u"], end)], []);
});

test("events of a term are counted between any two numbers, in blocks and behind them", () => {
	append(3 * BLOCK + 50);
	blockWriter(db).add(chain.tip().seq);
	append(100);
	const { count } = auditPostings(db);
	const ends = [0, 1, 7, BLOCK - 1, BLOCK, BLOCK + 9, 3 * BLOCK, 3 * BLOCK + 60, Number.MAX_SAFE_INTEGER];
	for (const from of ends)
		for (const below of ends) {
			const all = numbers(from, Math.min(below, chain.tip().seq + 1), (seq) => seq % 3 === 0 && seq > 0);
			assert.equal(count("token t", from, below), all.length, `${from} to ${below}`);
		}
});

test("an event is found by all that it names", () => {
	const facts = { type: "access.denied", actor: "a", realm_id: "i", realm: "r" } as const;
	const named = (data: object) => termsOf({ ...facts, data: JSON.stringify(data) });
	const always = ["type access.denied", "actor a", "realm i", "denied i"];
	assert.deepEqual(named({}), always);
	assert.deepEqual(named({ environment: "" }), [...always, "environment "]);
	assert.deepEqual(named({ environment: "dev", to_environment: "prod" }), [
		...always,
		"environment dev",
		"environment prod",
	]);
	assert.deepEqual(named({ from_environment: "test", token_id: "t", key: "K", key_set: "s" }), [
		...always,
		...["environment test", "token t", "key r/K", "set s"],
	]);
});

test("a time is found in the first block that reaches it, also where the clock was set back", () => {
	append(2 * BLOCK - 1);
	chain.append(anEvent({ timestamp: dayOf(10) }));
	append(BLOCK);
	blockWriter(db).add(chain.tip().seq);
	const { firstSince, endBefore } = auditPostings(db);
	assert.equal(firstSince(dayOf(1)), 0);
	assert.equal(firstSince(dayOf(BLOCK - 1)), 0);
	assert.equal(firstSince(dayOf(BLOCK)), BLOCK);
	assert.equal(firstSince(dayOf(2 * BLOCK)), 2 * BLOCK);
	assert.equal(firstSince(dayOf(9 * BLOCK)), 3 * BLOCK);
	assert.equal(endBefore(dayOf(1)), 0);
	assert.equal(endBefore(dayOf(10)), BLOCK);
	assert.equal(endBefore(dayOf(11)), 3 * BLOCK);
	assert.equal(endBefore(dayOf(BLOCK + 1)), 3 * BLOCK);
	append(1);
	assert.equal(endBefore(dayOf(3 * BLOCK)), 3 * BLOCK);
	assert.equal(endBefore(dayOf(3 * BLOCK + 2)), Number.MAX_SAFE_INTEGER);
});

test("events of keys are found in a segment, in the blocks behind it, and behind those", () => {
	append((SEGMENT + 2) * BLOCK + 50);
	addBlocks();
	append(100);
	const end = chain.tip().seq + 1;
	const { walk } = auditPostings(db);
	for (const below of [end, (SEGMENT + 1) * BLOCK, SEGMENT * BLOCK + 1, SEGMENT * BLOCK, 2 * BLOCK - 7, 1]) {
		const all = numbers(1, below, (seq) => seq % 100 === 0);
		assert.deepEqual([...walk(["key shop/K"], below)], all);
		assert.deepEqual([...walk(["key other/K", "key shop/K", "key shop/OTHER"], below)], all);
	}
	assert.deepEqual([...walk(["key shop/OTHER"], end)], []);
	assert.ok(areBlocksSound(db));
	db.exec(`${UNLOCKED} DELETE FROM audit_posting WHERE term = '${PART_OF_K}'`);
	assert.ok([...walk(["key shop/K"], end)].every((seq) => seq >= SEGMENT * BLOCK));
});

test("events of a key whose hash another key has, too, are neither listed nor counted with it", () => {
	const [one, other] = ["K26362056", "K31626158"];
	assert.equal(keyHash(TERM.key("shop", one)), keyHash(TERM.key("shop", other)));
	const note = (key: string) =>
		chain.append(anEvent({ type: "secret.read", realm_id: "r", realm: "shop", data: { key, environment: "dev" } }));
	const realm = aRealm("a", { id: "r", slug: "shop" });
	db.pragma("foreign_keys = OFF");
	db.prepare("INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES (?, ?, '', '', ?, '')").run(
		...[realm.id, realm.slug, realm.user_id],
	);
	trustAllRows(db);
	for (const key of [one, other, one]) note(key);
	append(BLOCK);
	addBlocks();
	const log = auditLog(db);
	const query = { scopes: [{ member_id: "a" }], realm: undefined, type: undefined, actors: undefined };
	const found = (key: string) => log.list({ ...query, key }, undefined, 10).map(({ seq }) => seq);
	assert.deepEqual([...auditPostings(db).walk([TERM.key("shop", other)], BLOCK)], [3, 2, 1]);
	assert.deepEqual([found(one), found(other)], [[3, 1], [2]]);
	assert.deepEqual([log.count({ ...query, key: one }), log.count({ ...query, key: other })], [2, 1]);
	const about = { member_id: "a", realm_id: "r", realm: "shop", environment: "dev" };
	const range = { starts: ["2000-01-01T00:00:00.000Z"], end: "2100-01-01T00:00:00.000Z" };
	assert.deepEqual(auditDays(db).readsPerDay({ ...about, key: other }, range, 100).reads, [1]);
});

test("a segment is added after a gap that another program left in the log", () => {
	append(2 * BLOCK - 1);
	chain.rewind({ ...chain.tip(), seq: 3 * SEGMENT * BLOCK + 10 });
	append(2 * BLOCK);
	addBlocks();
	assert.deepEqual(blocks(), [0, 1, 3 * SEGMENT, 3 * SEGMENT + 1]);
	assert.ok(areBlocksSound(db));
	const { walk } = auditPostings(db);
	const isThere = (seq: number) => seq % 100 === 0 && (seq < 2 * BLOCK || seq > 3 * SEGMENT * BLOCK + 10);
	assert.deepEqual([...walk(["key shop/K"], Number.MAX_SAFE_INTEGER)], numbers(1, chain.tip().seq + 1, isThere));
});

const PART_OF_K = partTerm(keyHash(TERM.key("shop", "K")));

const UNLOCKED =
	"DROP TRIGGER audit_posting_keep; DROP TRIGGER audit_posting_stay; DROP TRIGGER audit_block_keep; DROP TRIGGER audit_block_stay;";

for (const [what, sql] of Object.entries({
	"a posting less": "DELETE FROM audit_posting WHERE term = 'token t' AND block = 1",
	"a posting more": "INSERT INTO audit_posting VALUES ('token other', 1, x'00')",
	"other offsets": "UPDATE audit_posting SET offsets = x'00' WHERE term = 'token t' AND block = 1",
	"other keys": "UPDATE audit_block SET keys = zeroblob(length(keys)) WHERE block = 1",
	"a later time": "UPDATE audit_block SET latest = '2099' WHERE block = 1",
	"an earlier time": "UPDATE audit_block SET earliest = '1999' WHERE block = 1",
	"a block less": "DELETE FROM audit_block WHERE block = 1; DELETE FROM audit_posting WHERE block = 1",
	"the first block less": "DELETE FROM audit_block WHERE block = 0; DELETE FROM audit_posting WHERE block = 0",
	"a block more": "INSERT INTO audit_block VALUES (9, '2030', '2099', x'')",
}))
	test(`blocks with ${what} are not those of the events`, () => {
		append(3 * BLOCK);
		blockWriter(db).add(chain.tip().seq);
		assert.ok(areBlocksSound(db));
		db.exec(UNLOCKED + sql);
		assert.ok(!areBlocksSound(db));
	});

for (const [what, sql] of Object.entries({
	"a part less": `DELETE FROM audit_posting WHERE term = '${PART_OF_K}'`,
	"a part more": "INSERT INTO audit_posting VALUES ('keys other', 0, x'00')",
	"other keys in a part": `UPDATE audit_posting SET offsets = x'00' WHERE term = '${PART_OF_K}'`,
	"a segment more": `INSERT INTO audit_posting SELECT term, ${SEGMENT}, offsets FROM audit_posting WHERE term = '${PART_OF_K}'`,
}))
	test(`segments with ${what} are not those of the events`, () => {
		append((SEGMENT + 1) * BLOCK);
		addBlocks();
		assert.ok(areBlocksSound(db));
		db.exec(UNLOCKED + sql);
		assert.ok(!areBlocksSound(db));
	});

test("a database from before blocks has none to compare", () => {
	assert.ok(areBlocksSound(new Database(":memory:")));
});

test("events whose facts are no JSON have no terms", () => {
	append(BLOCK - 2);
	db.prepare("INSERT INTO audit_event VALUES (?, ?, 't', 'a', '', '', ?, zeroblob(32))").run(BLOCK - 1, MADE_AT, "{");
	blockWriter(db).add(BLOCK - 1);
	assert.ok(areBlocksSound(db));
});

test("blocks that another program took away are added again, over what it left", () => {
	append(2 * BLOCK);
	blockWriter(db).add(chain.tip().seq);
	db.exec(`${UNLOCKED} DELETE FROM audit_block`);
	assert.ok(!areBlocksSound(db));
	blockWriter(db).add(chain.tip().seq);
	assert.ok(areBlocksSound(db));
});
