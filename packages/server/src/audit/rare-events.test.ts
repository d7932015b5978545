import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { PageRequest, Pagination } from "../pagination.ts";
import { ReadWorker } from "../store/sqlite/read-worker.ts";
import { actorOf } from "../testing/actor.ts";
import { anEvent } from "../testing/rows.ts";
import { addAccount, addRealm, openTestRules } from "../testing/rules.ts";
import { listEvents } from "./audit.ts";
import { exportEvents } from "./export.ts";
import type { AuditStore, StoredEvent } from "./model.ts";

const rules = await openTestRules({ after });
const account = await addAccount(rules.store);
const { id: realm_id, slug: realm } = await addRealm(rules.store, account);
const append = (count: number, of: object) =>
	Promise.all(Array.from({ length: count }, () => rules.store.audit.append(anEvent({ type: "secret.set", ...of }))));
const rare = { realm_id, realm, data: { environment: "prod" } };
await append(3, rare);
await append(2400, {});
await append(3, rare);

/** The log, whose first answer takes longer than it may. */
function slowAtFirst(): Pick<AuditStore, "list" | "export"> {
	const [slow, fast] = [0, 60_000].map((ms) => new ReadWorker(rules.file, () => rules.keyring.rows(), ms));
	after(async () => void (await Promise.all([slow?.close(), fast?.close()])));
	let asked = 0;
	const worker = () => (asked++ === 0 ? slow : fast) ?? assert.fail();
	return {
		list: (...args) => worker().question("audit", "list")(...args),
		export: (...args) => worker().question("audit", "export")(...args),
	};
}

// A list looks at the events behind the last block before those in blocks; nothing leads to the events that an export names.
const LISTS = {
	"a list": { ask: listEvents, filter: { environment: "prod" } },
	"an export": { ask: exportEvents, filter: { realm } },
} as const;
for (const [what, { ask, filter }] of Object.entries(LISTS)) {
	test(`${what} of rare events that takes too long returns the events found so far and a cursor to the rest`, async () => {
		const store = { ...rules.store, audit: { ...rules.store.audit, ...slowAtFirst() } };
		const read = (page: PageRequest): Promise<{ rows: StoredEvent[]; pagination: Pagination }> =>
			ask({ ...rules, store }, actorOf(account), filter, page);
		const first = await read({ limit: 100 });
		assert.equal(first.rows.length, what === "a list" ? 3 : 4);
		assert.equal(first.pagination.has_more, true);
		const second = await read({ limit: 100, cursor: first.pagination.next_cursor });
		assert.equal(second.pagination.has_more, false);
		const whole = await ask(rules, actorOf(account), filter, { limit: 100 });
		assert.deepEqual([...first.rows, ...second.rows], whole.rows);
	});
}
