import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestSystem } from "../testing/system.ts";
import { createRowMacs, type RowKey } from "./row-macs.ts";

const { randomBytes } = createTestSystem();
const key = (fill: number): RowKey => ({ id: Buffer.alloc(8, fill), bytes: Buffer.alloc(32, fill) });

const flipped = (mac: Buffer) => Buffer.from(mac.map((byte, at) => (at === mac.length - 1 ? byte ^ 1 : byte)));

test("a MAC fits its own text alone", () => {
	const macs = createRowMacs([key(1)], randomBytes);
	const texts = ["", "a", "b", "é", "a".repeat(5000), "a".repeat(5001)];
	for (const text of texts) {
		const mac = macs.make(text);
		assert.deepEqual(macs.usual(text), mac);
		assert.deepEqual(
			texts.filter((other) => macs.fits(mac, other)),
			[text],
		);
		for (const spoilt of [null, "", mac.subarray(1), flipped(mac)]) assert.equal(macs.fits(spoilt, text), false);
	}
	assert.equal(createRowMacs([], randomBytes).usual("a"), null);
});

test("a retired key's MACs and tips still fit, those of no key of the keyring do not", () => {
	const before = createRowMacs([key(1)], randomBytes);
	const [mac, box] = [before.make("x"), before.seal("tip")];
	for (const [keys, isKnown] of [
		[[key(2), key(1)], true],
		[[key(2)], false],
		[[], false],
	] as const) {
		const now = createRowMacs(keys, randomBytes);
		assert.equal(now.fits(mac, "x"), isKnown);
		assert.deepEqual(now.open(box), isKnown ? { text: "tip", key: "01".repeat(8) } : undefined);
	}
	assert.throws(() => createRowMacs([], randomBytes).sign("a"), /no key for rows/);
});

test("each key has MACs, terms and tips of its own, found by the key's name", () => {
	const macs = createRowMacs([key(2), key(1)], randomBytes);
	const [active, former] = ["02".repeat(8), "01".repeat(8)];
	assert.equal(macs.active, active);
	for (const name of [active, former]) {
		const { mac, term } = macs.sign("x", name);
		assert.deepEqual(macs.make("x", name), mac);
		assert.deepEqual(macs.signed(mac, "x"), { key: name, term });
		assert.deepEqual(macs.open(macs.seal("tip", name)), { text: "tip", key: name });
		const alone = createRowMacs([key(Number(name[1]))], randomBytes);
		assert.deepEqual(alone.sign("x"), { mac, term });
	}
	assert.notEqual(macs.sign("x", active).term, macs.sign("x", former).term);
	assert.equal(macs.signed(macs.make("x"), "y"), undefined);
});

test("every use throws until keys come, and later keys replace earlier ones", () => {
	const macs = createRowMacs(undefined, randomBytes);
	const alone = createRowMacs([key(1)], randomBytes);
	const [mac, box] = [alone.make("x"), alone.seal("tip")];
	for (const use of [
		...[() => macs.active, () => macs.names, () => macs.make("x"), () => macs.usual("x"), () => macs.sign("x")],
		...[() => macs.signed(null, "x"), () => macs.fits(null, "x"), () => macs.seal("x"), () => macs.open(Buffer.of())],
	])
		assert.throws(use, /no keys/);
	macs.use([key(1)]);
	assert.deepEqual([macs.active, macs.fits(mac, "x"), macs.open(box)?.text], ["01".repeat(8), true, "tip"]);
	macs.use([key(2)]);
	assert.deepEqual([macs.active, macs.fits(mac, "x"), macs.open(box)], ["02".repeat(8), false, undefined]);
});
