import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import Database from "better-sqlite3";
import type { EventScope } from "../../audit/event-query.ts";
import { keySetOf } from "../../audit/key-parts.ts";
import type { ListedEvent } from "../../audit/model.ts";
import { aNewRealm, anAccount, anEvent, aRealm, MADE_AT } from "../../testing/rows.ts";
import { trustAllRows } from "../../testing/store.ts";
import { blockWriter } from "./audit-blocks.ts";
import { auditLog } from "./audit-log.ts";
import { keyEvents } from "./key-events.ts";
import { migrate } from "./migrate.ts";
import { TookTooLong } from "./time-limit.ts";
import { openChain } from "./tip.ts";
import { allWrites } from "./writes/all.ts";
import { keySetWrites } from "./writes/key-sets.ts";

const ran: string[] = [];
const db = new Database(":memory:", { verbose: (sql) => void ran.push(String(sql)) });
migrate(db, MADE_AT);
trustAllRows(db);

/** Looks at the time that are left before it is over. */
let looks = Number.POSITIVE_INFINITY;
db.function("in_time", { directOnly: true }, (seq) => {
	if (looks-- <= 0) throw new TookTooLong(Number(seq));
	return 1;
});
beforeEach(() => {
	looks = Number.POSITIVE_INFINITY;
	ran.length = 0;
});

const { append } = openChain(db);
const { accounts, realms } = allWrites(db, append);
const { appendNaming } = keySetWrites(db, append);
const owner = anAccount();
accounts.register(owner, anEvent());
const [one, two, foreign] = [aRealm(owner.id), aRealm(owner.id), aRealm(owner.id)];
for (const realm of [one, two]) realms.create(aNewRealm(realm), anEvent());

/** Numbers of the key's events, newest first. */
const OF_KEY: number[] = [];
const last = () => db.prepare("SELECT max(seq) FROM audit_event").pluck().get() as number;
for (let mark = 0; mark < 4200; mark++) {
	const { id: realm_id, slug: realm } = [one, two, foreign][mark % 3] ?? one;
	const set = keySetOf([mark % 2 === 0 ? "K" : "OTHER", `KEY_${mark % 33}`]);
	if (mark % 5 === 0) appendNaming(set, anEvent({ type: "secret.sync", realm_id, realm, data: { key_set: set.hash } }));
	else append(anEvent({ realm_id, realm, data: { key: mark % 2 === 0 ? "K" : "OTHER" } }));
	if (mark % 2 === 0 && mark % 3 !== 2) OF_KEY.unshift(last());
}
const { add } = blockWriter(db);
for (const _ of [1, 2]) add(last());

const QUERY = { scopes: [{ member_id: owner.id }], realm: undefined, type: undefined, actors: undefined, key: "K" };
const walked = (most?: { runs: number; sets: number }, given = {}) => [
	...keyEvents(db, most).walk({ ...QUERY, ...given }, Number.MAX_SAFE_INTEGER),
];
const MERGED = /keys AS offsets FROM audit_block/;

test("a key's events are found whether their runs are merged or all events of the realms are looked at", () => {
	assert.deepEqual(walked(), OF_KEY);
	assert.ok(ran.some((sql) => MERGED.test(sql)));
	const ofTwo = walked(undefined, { realm: two.slug, realm_id: two.id });
	for (const most of [
		{ runs: 3, sets: 1000 },
		{ runs: 1000, sets: 3 },
	]) {
		ran.length = 0;
		assert.deepEqual(walked(most), OF_KEY);
		assert.deepEqual(walked(most, { realm: two.slug, realm_id: two.id }), ofTwo);
		assert.ok(!ran.some((sql) => MERGED.test(sql)));
	}
});

test("no more sets of a key, and no more former slugs, are read than can be merged", () => {
	const facts = { realm_id: two.id, realm: two.slug };
	for (let was = 0; was < 9; was++) append(anEvent({ type: "realm.restored", ...facts, data: { was: `was-${was}` } }));
	for (const most of [
		{ runs: 1000, sets: 3 },
		{ runs: 8, sets: 1000 },
	]) {
		ran.length = 0;
		keyEvents(db, most).walk(QUERY, last()).next();
		assert.ok(!ran.some((sql) => sql.startsWith("SELECT DISTINCT s.hash")));
		const former = ran.filter((sql) => sql.includes("audit_event_restored"));
		assert.ok(former.length === 1 && former.every((sql) => / LIMIT [0-9.]+$/.test(sql)));
	}
});

const PAGES: [what: string, scopes: EventScope[], looks: number][] = [
	["runs that are merged", QUERY.scopes, 60],
	["all events", [{ realm_ids: [one.id, two.id] }], 2],
];

for (const [what, scopes, most] of PAGES) {
	test(`a page of ${what} that takes too long has what was found, and the next page continues from there`, () => {
		const log = auditLog(db);
		const found: number[] = [];
		let cut = 0;
		for (let position: string | undefined, more = true; more; ) {
			looks = most;
			const before = position;
			try {
				const rows = log.list({ ...QUERY, scopes }, before, 1000);
				found.push(...rows.map(({ position }) => Number(position)));
				more = rows.length === 1000;
				position = rows.at(-1)?.position;
			} catch (error) {
				assert.ok(error instanceof TookTooLong);
				const { rows, rest } = error.found ?? assert.fail("nothing to go on from");
				found.push(...(rows as ListedEvent[]).map(({ position }) => Number(position)));
				assert.notEqual(rest, before);
				position = rest;
				cut++;
			}
		}
		assert.deepEqual(found, OF_KEY);
		assert.ok(cut > 0);
	});
}
