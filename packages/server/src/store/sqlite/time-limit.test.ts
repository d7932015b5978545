import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { EventQuery } from "../../audit/event-query.ts";
import { AppError } from "../../errors.ts";
import { MAX_QUESTION_S, questionLimit } from "../../limits.ts";
import { aLease, anEvent, MADE_AT } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore, ROW_KEY } from "../../testing/store.ts";
import { openWriter } from "./open.ts";
import { ReadWorker } from "./read-worker.ts";

const { store, file } = await openTestStore({ after });
const { id: member_id } = await addAccount(store);
const realm = await addRealm(store, { id: member_id });
const { id: realm_id, slug } = realm;
const EVENTS = 2100;
const key = "K";
const read = anEvent({ realm_id, realm: slug, data: { key } });
await Promise.all(Array.from({ length: EVENTS }, () => store.audit.append(read)));
await store.leases.begin(aLease(realm_id), null, anEvent());
const otherWriter = openWriter(file);
otherWriter.exec("UPDATE lease SET rowid = 1024");
otherWriter.close();

const { actor } = anEvent();
const ALL: EventQuery = { scopes: [{}], realm: undefined, type: undefined, actors: undefined };
const OF_MEMBER: EventQuery = { ...ALL, scopes: [{ member_id }], key };
const DAY = { starts: [MADE_AT], end: "2030-01-02T00:00:00.000Z" };
const EVERY_LEASE = { realm_id: "", engine: "", state: "" } as const;

/** Opens a thread whose questions have this much time. */
function reader(limit_ms: number): ReadWorker {
	const worker = new ReadWorker(file, () => [ROW_KEY], limit_ms);
	after(() => worker.close());
	return worker;
}

const QUESTIONS: Record<string, (worker: ReadWorker) => Promise<unknown>> = {
	"a list of somebody's events": (worker) =>
		worker.question("audit", "list")({ ...ALL, actors: [actor, "other"] }, undefined, EVENTS),
	"a list that finds nothing to go on from": (worker) => worker.question("audit", "list")(ALL, "2049", EVENTS),
	"a count of events": (worker) => worker.question("audit", "count")(ALL),
	"an export that finds nothing to go on from": (worker) =>
		worker.question("audit", "export")(ALL, { after: "1023", last: "9999" }, EVENTS),
	"a list of a key's events": (worker) => worker.question("audit", "list")(OF_MEMBER, "2048", EVENTS),
	"a list of a key's events among all that finds nothing to go on from": (worker) =>
		worker.question("audit", "list")({ ...ALL, key }, "2049", EVENTS),
	"a count of a key's events": (worker) => worker.question("audit", "count")(OF_MEMBER),
	"a count of a key's reads by day": (worker) =>
		worker.question("audit", "readsPerDay")(
			{ member_id, realm_id, realm: slug, key, environment: "prod" },
			DAY,
			EVENTS,
		),
	"a count by day": (worker) => worker.question("audit", "perDay")(realm_id, DAY),
	"a list of leases": (worker) => worker.question("leases", "list")(EVERY_LEASE, "~", 10),
	"a count of leases": (worker) => worker.question("leases", "count")({ ...EVERY_LEASE, realm_id }),
};

for (const [what, ask] of Object.entries(QUESTIONS)) {
	test(`${what} that takes too long is refused under the limit's name, and the next question is answered`, async () => {
		const worker = reader(0);
		await assert.rejects(ask(worker), (error) => {
			assert.ok(error instanceof AppError);
			assert.match(error.message, /\(question_seconds\)/);
			assert.deepEqual([error.code, error.status, error.headers["retry-after"]], ["overloaded", 503, "30"]);
			return true;
		});
		assert.equal(worker.times().refused, 1);
		await worker.question("audit", "latest")();
		await ask(reader(60_000));
	});
}

test("the limit shows how long the current question has taken", async () => {
	const worker = reader(60_000);
	const { used, max, refused } = questionLimit({ questionTimes: () => worker.times() });
	assert.deepEqual([used(), max, refused?.()], [0, MAX_QUESTION_S, 0]);
	const answer = worker.question("audit", "count")(ALL);
	await new Promise(setImmediate);
	assert.ok((await used()) > 0);
	await answer;
	assert.equal(used(), 0);
});
