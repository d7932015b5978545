import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { checkExport } from "./audit-chain.ts";

const LENGTH = 6;

interface Event extends Record<string, unknown> {
	readonly seq: number;
	readonly previous_hash: string;
	readonly hash: string;
}

/** An event with the server's hash, computed a second time. */
function eventAfter(previous_hash: string, seq: number): Event {
	const fields = { timestamp: `t${seq}`, type: "encrypt", actor: "ä", realm_id: "", realm: "", data: `{"n":${seq}}` };
	const input = `svc-audit-v1\n${seq}\n${previous_hash}\n${Object.values(fields)
		.map((text) => `${Buffer.byteLength(text)}:${text}`)
		.join("")}`;
	return { seq, ...fields, previous_hash, hash: createHash("sha256").update(input).digest("hex") };
}

const chain: Event[] = [];
for (let seq = 1; seq <= LENGTH; seq += 1) chain.push(eventAfter(chain.at(-1)?.hash ?? "0".repeat(64), seq));
const eventAt = (seq: number): Event => chain[seq - 1] ?? assert.fail(`no event ${seq}`);

async function* inTurn(events: readonly (object | undefined)[]) {
	for (const event of events) yield event as Event | undefined;
}
const check = (events: readonly (object | undefined)[], anchor?: Event) => checkExport(inTurn(events), anchor);

test("an export as it was made is intact, from wherever it begins, and events that are not in it are gaps", async () => {
	const { hash } = eventAt(LENGTH);
	const whole = {
		status: "intact",
		gaps: 0,
		anchored: false,
		altered_seq: undefined,
		last_seq: LENGTH,
		last_hash: hash,
	};
	assert.deepEqual(await check(chain), { ...whole, events: LENGTH });
	assert.deepEqual(await check(chain.slice(2)), { ...whole, events: LENGTH - 2 });
	assert.deepEqual(await check([eventAt(1), eventAt(3), eventAt(4), eventAt(6)]), { ...whole, events: 4, gaps: 2 });
	assert.equal((await check([])).status, "intact");
});

for (const field of ["timestamp", "type", "actor", "realm_id", "realm", "data", "previous_hash", "hash"]) {
	test(`an event whose ${field} was altered is found`, async () => {
		const altered = chain.map((event) => (event.seq === 3 ? { ...event, [field]: `${String(event[field])}0` } : event));
		const { status, altered_seq, events } = await check(altered);
		assert.deepEqual([status, altered_seq, events], ["altered", 3, 2]);
		const missing = chain.map((event) => (event.seq === 3 ? { ...event, [field]: undefined } : event));
		assert.equal((await check(missing)).altered_seq, 3);
	});
}

test("events in another order, twice, renumbered, or written again after another one are found", async () => {
	const anew = eventAfter(eventAt(2).hash, 4);
	const wrong: (object | undefined)[][] = [
		[eventAt(1), eventAt(3), eventAt(2)],
		[eventAt(1), eventAt(1)],
		[eventAt(1), { ...eventAt(3), seq: 2 }],
		[eventAt(1), eventAt(2), eventAt(3), anew],
		[eventAt(1), undefined],
	];
	for (const events of wrong) assert.equal((await check(events)).status, "altered", JSON.stringify(events));
});

test("a checkpoint from elsewhere is met by its event alone, and shows that an export was cut off", async () => {
	assert.partialDeepStrictEqual(await check(chain, eventAt(4)), { status: "intact", anchored: true });
	assert.partialDeepStrictEqual(await check(chain.slice(0, 3), eventAt(4)), { status: "truncated", anchored: false });
	assert.partialDeepStrictEqual(await check(chain, { ...eventAt(4), hash: eventAt(3).hash }), { status: "altered" });
	const without = chain.filter(({ seq }) => seq !== 4);
	assert.partialDeepStrictEqual(await check(without, eventAt(4)), { status: "intact", anchored: false, gaps: 1 });
});
