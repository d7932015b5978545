import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import type { EventQuery } from "../../audit/event-query.ts";
import { keySetOf } from "../../audit/key-parts.ts";
import { aNewRealm, anAccount, anEvent, aRealm, MADE_AT, newId } from "../../testing/rows.ts";
import { trustAllRows } from "../../testing/store.ts";
import { BLOCK, blockWriter } from "./audit-blocks.ts";
import { auditDays } from "./audit-days.ts";
import { auditLog } from "./audit-log.ts";
import { migrate } from "./migrate.ts";
import { limitTime } from "./time-limit.ts";
import { openChain } from "./tip.ts";
import { allWrites } from "./writes/all.ts";
import { keySetWrites } from "./writes/key-sets.ts";

const ran: string[] = [];
const db = new Database(":memory:", { verbose: (sql) => void ran.push(String(sql)) });
migrate(db, MADE_AT);
trustAllRows(db);
limitTime(db);

const QUERY = { scopes: [{}], realm: undefined, type: undefined, actors: undefined };

/** A step that reads a whole table or index; what the query itself brings is short. */
const WALKED = /^SCAN (?!json_each|CONSTANT ROW|held)/;

/** Numbers that the blocks named are looked up, each by itself. */
const BY_NUMBER = /audit_event USING INTEGER PRIMARY KEY \(rowid=\?\)/;

/** All that somebody can see. They are counted in a walk through the log. */
const SEEN: EventQuery = { ...QUERY, scopes: [{ member_id: "m" }, { realm_ids: [""] }] };

const EVENTS: Record<string, [query: EventQuery, way: RegExp]> = {
	"since an instant": [{ ...QUERY, since: MADE_AT }, /audit_event USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/],
	"of a key and an actor": [{ ...QUERY, key: "K", actors: ["a"] }, BY_NUMBER],
	"of a key and a token": [{ ...QUERY, key: "K", token: "t" }, BY_NUMBER],
	"of a type": [{ ...QUERY, type: "secret.set" }, BY_NUMBER],
	"of types that begin alike": [{ ...QUERY, type: "lease.*" }, BY_NUMBER],
	"of an environment": [{ ...QUERY, environment: "prod" }, BY_NUMBER],
	"of an environment and an actor": [{ ...QUERY, environment: "prod", actors: ["a"] }, BY_NUMBER],
	"of an actor": [{ ...QUERY, actors: ["a", "b"] }, BY_NUMBER],
	"of an actor and a type": [{ ...QUERY, actors: ["a"], type: "secret.set" }, BY_NUMBER],
	"of a member's realm": [
		{ ...QUERY, scopes: [{ member_id: "m" }, { realm_ids: [""] }], realm: "r", realm_id: "i" },
		BY_NUMBER,
	],
	"that a member sees": [SEEN, BY_NUMBER],
	"of a token": [{ ...QUERY, token: "t" }, BY_NUMBER],
	"of a token since an instant": [{ ...QUERY, token: "t", since: MADE_AT }, BY_NUMBER],
};

for (const [what, [query, way]] of Object.entries(EVENTS)) {
	test(`events ${what} are found by an index, not by a walk through the log`, () => {
		ran.length = 0;
		const log = auditLog(db);
		log.list(query, undefined, 50);
		if (query !== SEEN) log.count(query);
		for (const sql of ran.filter((text) => /^SELECT \*|^SELECT count/.test(text))) {
			const plan = (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail);
			assert.deepEqual(
				plan.filter((step) => WALKED.test(step)),
				[],
				sql,
			);
			assert.match(plan.join("; "), sql.startsWith("SELECT count") ? /SEARCH audit_event/ : way);
		}
	});
}

const POSTINGS = /^SEARCH audit_posting USING PRIMARY KEY \(term=\? AND block<\?\)$/;

test("a member's events of a key, and those whose set holds it, are read in order from their postings, a few of each run", () => {
	const chain = openChain(db);
	const set = keySetOf(["K"]);
	const writes = keySetWrites(db, chain.append);
	const [owner, member_id] = [anAccount(), newId()];
	const [one, two] = [aRealm(owner.id), aRealm(owner.id)];
	const { accounts, realms } = allWrites(db, chain.append);
	accounts.register(owner, anEvent());
	for (const realm of [one, two]) realms.create(aNewRealm(realm), anEvent());
	const facts = { realm_id: one.id, realm: one.slug };
	chain.append(anEvent({ ...facts, data: { key: "K" } }));
	writes.appendNaming(set, anEvent({ ...facts, data: { key_set: set.hash } }));
	while (chain.tip().seq < BLOCK - 1) chain.append(anEvent());
	blockWriter(db).add(chain.tip().seq);
	ran.length = 0;
	const log = auditLog(db);
	const own = { scopes: [{ member_id: owner.id }] };
	for (const given of [own, { ...own, realm: one.slug }, { ...own, since: MADE_AT }, { scopes: [{ member_id }] }]) {
		const found = log.list({ ...QUERY, ...given, key: "K" }, undefined, 50);
		const total = given.scopes === own.scopes ? 2 : 0;
		assert.deepEqual([found.length, log.count({ ...QUERY, ...given, key: "K" })], [total, total]);
	}
	const plans = [...new Set(ran.filter((text) => text.startsWith("SELECT")))].map((sql) => {
		const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
		return { sql, steps: steps.map(({ detail }) => detail) };
	});
	for (const { sql, steps } of plans) {
		const walked = steps.filter((step) => WALKED.test(step));
		assert.deepEqual(walked, [], sql);
	}
	const runs = plans.filter(({ sql }) => sql.includes("FROM audit_posting"));
	assert.ok(runs.length >= 2);
	for (const { sql, steps } of runs) assert.ok(steps.length === 1 && POSTINGS.test(steps[0] ?? ""), sql);
});

test("a realm's days are counted in blocks and behind them, without a look at the events in blocks", () => {
	const chain = openChain(db);
	const note = (timestamp: string, type: "secret.set" | "access.denied" = "secret.set") =>
		chain.append(anEvent({ realm_id: "days", timestamp, type }));
	const [YESTERDAY, TODAY] = ["2031-01-01T00:00:00.000Z", "2031-01-02T00:00:00.000Z"];
	const range = { starts: [YESTERDAY, TODAY], end: "2031-01-03T00:00:00.000Z" };
	for (let count = 0; count < 3 * BLOCK; count++) note(YESTERDAY, count % 10 === 0 ? "access.denied" : undefined);
	note(TODAY);
	chain.append(anEvent({ realm_id: "other", timestamp: TODAY, type: "access.denied" }));
	while (chain.tip().seq % BLOCK < BLOCK - 1) chain.append(anEvent({ realm_id: "other", timestamp: TODAY }));
	blockWriter(db).add(chain.tip().seq);
	note(TODAY, "access.denied");
	ran.length = 0;
	assert.deepEqual(auditDays(db).perDay("days", range), [
		{ events: 3 * BLOCK, denials: Math.ceil((3 * BLOCK) / 10) },
		{ events: 2, denials: 1 },
	]);
	for (const sql of new Set(ran)) {
		const steps = (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail);
		assert.match(
			steps.join("; "),
			/^SEARCH audit_\w+ USING (COVERING INDEX|PRIMARY KEY|INTEGER PRIMARY KEY) ?\w* \([^;]*\)$|^SEARCH audit_block$|^SCAN CONSTANT ROW$/,
			sql,
		);
	}
	assert.ok(ran.some((sql) => sql.includes("sum(length(offsets))")));
});
