import assert from "node:assert/strict";
import { test } from "node:test";
import { FairCache } from "./fair-cache.ts";

/** Remembers entries of one payer: the names from one number up to another. */
function fill(cache: FairCache<string>, payer: string, from: number, to: number): void {
	for (let at = from; at < to; at++) cache.set(payer, `${payer}${at}`, `${at}`);
}

const holds = (cache: Pick<FairCache<unknown>, "peek">, names: string[]) =>
	names.filter((name) => cache.peek(name) !== undefined).join(" ");

test("when the cache is full, any new entry replaces one of the payer with the most entries", () => {
	const cache = new FairCache<string>(10);
	fill(cache, "a", 0, 2);
	fill(cache, "b", 0, 1000);
	assert.equal(holds(cache, ["a0", "a1", "b991", "b992", "b999"]), "a0 a1 b992 b999");
	fill(cache, "a", 2, 4);
	assert.equal(holds(cache, ["a0", "a3", "b993", "b994"]), "a0 a3 b994");
	assert.equal([...cache.values()].length, 10);
});

test("a payer loses its least recently used entry; of payers that hold equally many, the one that was idle longest loses one", () => {
	const cache = new FairCache<string>(4);
	fill(cache, "a", 0, 2);
	fill(cache, "b", 0, 2);
	assert.equal(cache.get("a", "a0"), "0");
	fill(cache, "c", 0, 1);
	assert.equal(holds(cache, ["a0", "a1", "b0", "b1", "c0"]), "a0 a1 b1 c0");
	fill(cache, "c", 1, 2);
	assert.equal(holds(cache, ["a0", "a1", "b1", "c0", "c1"]), "a0 b1 c0 c1");
});

test("an entry that several payers use belongs to the last one that used it", () => {
	const cache = new FairCache<string>(4);
	cache.set("a", "shared", "");
	fill(cache, "a", 0, 3);
	assert.equal(cache.get("b", "shared"), "");
	fill(cache, "a", 3, 1000);
	assert.equal(cache.get("b", "shared"), "");
	assert.equal([...cache.values()].length, 4);
	cache.set("b", "shared", "new");
	assert.equal(cache.get("a", "shared"), "new");
	fill(cache, "a", 1000, 1004);
	assert.equal(cache.get("b", "shared"), undefined);
});

test("payers with one entry each lose them in the order of use", () => {
	const cache = new FairCache<number>(50);
	let seed = 1;
	const random = (below: number) => {
		seed = (seed * 48_271) % 2_147_483_647;
		return seed % below;
	};
	for (let count = 0; count < 20_000; count++) {
		const [payer, name] = [`p${random(7)}`, `n${random(100)}`];
		if (random(2) === 0) cache.get(payer, name);
		else cache.set(payer, name, count);
		assert.ok([...cache.values()].length <= 50);
	}
	const singles = Array.from({ length: 100 }, (_, at) => `single${at}`);
	for (const [at, name] of singles.entries()) cache.set(name, name, at);
	assert.equal(holds(cache, singles), singles.slice(50).join(" "));
});
