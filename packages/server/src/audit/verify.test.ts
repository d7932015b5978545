import assert from "node:assert/strict";
import { test } from "node:test";
import { eventHash, GENESIS } from "./chain.ts";
import type { ChainReport, StoredEvent } from "./model.ts";
import { verifyChain } from "./verify.ts";

const LENGTH = 10;

/** A correct chain. */
function chainOf(length: number, first = "a"): StoredEvent[] {
	let previous: Buffer = GENESIS;
	return Array.from({ length }, (_, index) => {
		const seq = index + 1;
		const event = { seq, timestamp: `t${seq}`, type: "encrypt", actor: first, realm_id: "", realm: "", data: "{}" };
		previous = eventHash(previous, event);
		return { ...event, hash: previous };
	});
}

const chain = chainOf(LENGTH);
const eventAt = (seq: number): StoredEvent => chain[seq - 1] ?? assert.fail(`no event ${seq}`);
const anchorAt = (seq: number) => ({ seq, hash: eventAt(seq).hash });
const change = (seq: number, given: Partial<StoredEvent>) =>
	chain.map((event) => (event.seq === seq ? { ...event, ...given } : event));
const facts = ({ status, seq, events }: ChainReport) => ({ status, seq, events });

test("a chain as it was written is intact, and its end is known", () => {
	const last = { seq: LENGTH, hash: eventAt(LENGTH).hash };
	assert.deepEqual(verifyChain(chain, []), { status: "intact", events: LENGTH, seq: undefined, last });
});

test("an empty chain is intact and ends at the genesis", () => {
	assert.deepEqual(verifyChain([], []), {
		status: "intact",
		events: 0,
		seq: undefined,
		last: { seq: 0, hash: GENESIS },
	});
});

const ALTERED: Record<string, [events: StoredEvent[], seq: number]> = {
	"the time of an event": [change(4, { timestamp: "later" }), 4],
	"the type of an event": [change(4, { type: "secret.set" }), 4],
	"the actor of an event": [change(4, { actor: "b" }), 4],
	"the realm's id of an event": [change(4, { realm_id: "r" }), 4],
	"the realm of an event": [change(4, { realm: "r" }), 4],
	"the facts of an event": [change(4, { data: '{"a":1}' }), 4],
	"the hash of an event": [change(4, { hash: Buffer.alloc(32) }), 4],
	"the number of an event": [change(4, { seq: 5 }), 4],
	...Object.fromEntries(
		(["timestamp", "type", "actor", "realm_id", "realm", "data"] as const).map((field) => [
			`the type of the value of ${field}`,
			[change(4, { [field]: Buffer.from(eventAt(4)[field]) }), 4],
		]),
	),
	"the type of the value of a hash": [change(4, { hash: "text" as never }), 4],
	"an event and its hash, but none after it": [
		change(4, { actor: "b", hash: eventHash(eventAt(3).hash, { ...eventAt(4), actor: "b" }) }),
		5,
	],
	"the first event": [change(1, { actor: "b" }), 1],
	"the last event": [change(LENGTH, { actor: "b" }), LENGTH],
	"an event that was taken out": [chain.filter((event) => event.seq !== 4), 4],
	"an event that was taken out, with the numbers closed up": [
		chain.filter((event) => event.seq !== 4).map((event, index) => ({ ...event, seq: index + 1 })),
		4,
	],
	"the first events, taken out": [chain.slice(3), 1],
	"an event that was put in": [
		[...chain.slice(0, 4), { ...eventAt(5), actor: "b" }, ...chain.slice(4)].map((event, index) => ({
			...event,
			seq: index + 1,
		})),
		5,
	],
	"an event that is there twice": [[...chain.slice(0, 4), eventAt(4), ...chain.slice(4)], 5],
	"two events that changed places": [
		[...chain.slice(0, 3), eventAt(5), eventAt(4), ...chain.slice(5)].map((event, index) => ({
			...event,
			seq: index + 1,
		})),
		4,
	],
};

for (const [what, [events, seq]] of Object.entries(ALTERED)) {
	test(`verifying finds the altered event: ${what}`, () => {
		assert.deepEqual(facts(verifyChain(events, [])), { status: "altered", seq, events: seq - 1 });
	});
}

test("a chain that was rewritten as a whole is found by one anchor, at the anchor", () => {
	const forged = chainOf(LENGTH, "b");
	assert.equal(verifyChain(forged, []).status, "intact", "nothing in it tells");
	assert.deepEqual(facts(verifyChain(forged, [anchorAt(7)])), { status: "altered", seq: 7, events: 6 });
	assert.deepEqual(facts(verifyChain(forged, [anchorAt(2), anchorAt(7)])), { status: "altered", seq: 2, events: 1 });
});

test("a chain that was cut off is found by an anchor beyond its end, which names the first event missing", () => {
	for (const kept of [0, 1, 6]) {
		const cut = chain.slice(0, kept);
		assert.equal(verifyChain(cut, []).status, "intact", "nothing in it tells");
		assert.deepEqual(facts(verifyChain(cut, [anchorAt(7)])), { status: "truncated", seq: kept + 1, events: kept });
	}
	assert.equal(verifyChain(chain.slice(0, 7), [anchorAt(7)]).status, "intact");
});

test("a checkpoint whose hash is a text anchors nothing", () => {
	const anchor = { seq: 7, hash: anchorAt(7).hash.toString("hex") as never };
	assert.deepEqual(facts(verifyChain(chain, [anchor])), { status: "altered", seq: 7, events: 6 });
});

test("altering weighs more than cutting off", () => {
	assert.equal(verifyChain(change(2, { actor: "b" }).slice(0, 5), [anchorAt(7)]).status, "altered");
});

test("anchors in any order, and more of them than one for an event, are all compared", () => {
	const anchors = [9, 3, 3, 10, 1].map(anchorAt);
	assert.equal(verifyChain(chain, anchors).status, "intact");
});

test("verifying reads the events one after the other and stops at the first that is wrong", () => {
	let read = 0;
	function* events() {
		for (const event of change(3, { actor: "b" })) {
			read++;
			yield event;
		}
	}
	verifyChain(events(), []);
	assert.equal(read, 3);
});
