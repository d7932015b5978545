import assert from "node:assert/strict";
import { test } from "node:test";
import { anEvent } from "../../testing/rows.ts";
import { addAccount, addRealm } from "../../testing/rules.ts";
import { openTestStore } from "../../testing/store.ts";

const RANGE = { starts: ["2031-07-01", "2031-07-02"], end: "2031-07-03" };
/** Events of the key that a question looks at. */
const MOST = 1000;

test("the reads of a key with too many events are counted further each time, and each once", async (t) => {
	const { store } = await openTestStore(t);
	const account = await addAccount(store);
	const { id: realm_id, slug: realm } = await addRealm(store, account);
	const of = { member_id: account.id, realm_id, realm, key: "HOT", environment: "prod" };
	const read = async (day: number, count: number) => {
		const data = { key: of.key, environment: of.environment };
		const event = anEvent({ timestamp: `2031-07-0${day}T00:00:00.000Z`, type: "secret.read", realm_id, realm, data });
		await Promise.all(Array.from({ length: count }, () => store.audit.append(event)));
	};
	const counted = () => store.audit.readsPerDay(of, RANGE, MOST);
	await read(1, 2 * MOST);
	await read(2, 3);
	assert.deepEqual(await counted(), { reads: [3], isCut: true });
	await read(2, 2);
	assert.deepEqual(await counted(), { reads: [5], isCut: true });
	assert.deepEqual(await counted(), { reads: [2 * MOST, 5], isCut: false });
	await read(2, 2 * MOST);
	assert.deepEqual(await counted(), { reads: [], isCut: true }, "more came than one question looks at");
	for (let times = 0; times < 3; times++) await counted();
	assert.deepEqual(await counted(), { reads: [2 * MOST, 2 * MOST + 5], isCut: false });
});
