import assert from "node:assert/strict";
import { test } from "node:test";
import { FairMemory } from "./fair-memory.ts";

/** Remembers entries of one payer: the names from one number up to another. */
function fill(memory: FairMemory<string>, payer: string, from: number, to: number): void {
	for (let at = from; at < to; at++) memory.set(payer, `${payer}${at}`, `${at}`);
}

const holds = (memory: Pick<FairMemory<unknown>, "peek">, names: string[]) =>
	names.filter((name) => memory.peek(name) !== undefined).join(" ");

test("when the memory is full, any new entry replaces one of the payer with the most entries", () => {
	const memory = new FairMemory<string>(10);
	fill(memory, "a", 0, 2);
	fill(memory, "b", 0, 1000);
	assert.equal(holds(memory, ["a0", "a1", "b991", "b992", "b999"]), "a0 a1 b992 b999");
	fill(memory, "a", 2, 4);
	assert.equal(holds(memory, ["a0", "a3", "b993", "b994"]), "a0 a3 b994");
	assert.equal([...memory.values()].length, 10);
});

test("a payer loses its least recently used entry; of payers that hold equally many, the one that was idle longest loses one", () => {
	const memory = new FairMemory<string>(4);
	fill(memory, "a", 0, 2);
	fill(memory, "b", 0, 2);
	assert.equal(memory.get("a", "a0"), "0");
	fill(memory, "c", 0, 1);
	assert.equal(holds(memory, ["a0", "a1", "b0", "b1", "c0"]), "a0 a1 b1 c0");
	fill(memory, "c", 1, 2);
	assert.equal(holds(memory, ["a0", "a1", "b1", "c0", "c1"]), "a0 b1 c0 c1");
});

test("an entry that several payers use belongs to the last one that used it", () => {
	const memory = new FairMemory<string>(4);
	memory.set("a", "shared", "");
	fill(memory, "a", 0, 3);
	assert.equal(memory.get("b", "shared"), "");
	fill(memory, "a", 3, 1000);
	assert.equal(memory.get("b", "shared"), "");
	assert.equal([...memory.values()].length, 4);
	memory.set("b", "shared", "new");
	assert.equal(memory.get("a", "shared"), "new");
	fill(memory, "a", 1000, 1004);
	assert.equal(memory.get("b", "shared"), undefined);
});

test("payers with one entry each lose them in the order of use", () => {
	const memory = new FairMemory<number>(50);
	let seed = 1;
	const random = (below: number) => {
		seed = (seed * 48_271) % 2_147_483_647;
		return seed % below;
	};
	for (let count = 0; count < 20_000; count++) {
		const [payer, name] = [`p${random(7)}`, `n${random(100)}`];
		if (random(2) === 0) memory.get(payer, name);
		else memory.set(payer, name, count);
		assert.ok([...memory.values()].length <= 50);
	}
	const singles = Array.from({ length: 100 }, (_, at) => `single${at}`);
	for (const [at, name] of singles.entries()) memory.set(name, name, at);
	assert.equal(holds(memory, singles), singles.slice(50).join(" "));
});
