import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestSystem } from "../testing/system.ts";
import { createRowMacs, type RowKey, type RowValue } from "./row-macs.ts";

const { randomBytes } = createTestSystem();
const key = (fill: number): RowKey => ({ id: Buffer.alloc(8, fill), bytes: Buffer.alloc(32, fill) });

const flipped = (mac: Buffer) => Buffer.from(mac.map((byte, at) => (at === mac.length - 1 ? byte ^ 1 : byte)));

test("a MAC fits its own table and values alone, whatever type they have", () => {
	const macs = createRowMacs([key(1)], randomBytes);
	const values: RowValue[] = [null, 0, 1, -1, 0.5, Infinity, -Infinity, "", "0", "null", "Infinity", Buffer.alloc(0)];
	const rows: (readonly [string, readonly RowValue[]])[] = [
		...values.map((value) => ["a", [value]] as const),
		...[["b", [null]] as const, ["a", []] as const, ["a", [null, null]] as const, ["a", ["00"]] as const],
		["a", [Buffer.alloc(1)]],
	];
	for (const [table, row] of rows) {
		const mac = macs.make(table, row);
		assert.deepEqual(
			rows.filter(([other, others]) => macs.fits(other, mac, others)),
			[[table, row]],
		);
		for (const spoilt of [null, "", mac.subarray(1), flipped(mac)]) assert.equal(macs.fits(table, spoilt, row), false);
	}
});

test("a retired key's MACs and tips still fit, those of no key of the keyring do not", () => {
	const before = createRowMacs([key(1)], randomBytes);
	const [mac, box] = [before.make("a", ["x"]), before.seal("tip")];
	for (const [keys, isKnown] of [
		[[key(2), key(1)], true],
		[[key(2)], false],
		[[], false],
	] as const) {
		const now = createRowMacs(keys, randomBytes);
		assert.equal(now.fits("a", mac, ["x"]), isKnown);
		assert.deepEqual(now.open(box), isKnown ? { text: "tip", key: "01".repeat(8) } : undefined);
	}
	assert.throws(() => createRowMacs([], randomBytes).sign("a", []), /no key for rows/);
});

test("each key has MACs, terms and tips of its own, found by the key's name", () => {
	const macs = createRowMacs([key(2), key(1)], randomBytes);
	const [active, former] = ["02".repeat(8), "01".repeat(8)];
	assert.equal(macs.active, active);
	for (const name of [active, former]) {
		const { mac, term } = macs.sign("a", ["x"], name);
		assert.deepEqual(macs.make("a", ["x"], name), mac);
		assert.deepEqual(macs.signed("a", mac, ["x"]), { key: name, term });
		assert.deepEqual(macs.open(macs.seal("tip", name)), { text: "tip", key: name });
		const alone = createRowMacs([key(Number(name[1]))], randomBytes);
		assert.deepEqual(alone.sign("a", ["x"]), { mac, term });
	}
	assert.notEqual(macs.sign("a", ["x"], active).term, macs.sign("a", ["x"], former).term);
	assert.equal(macs.signed("a", macs.make("a", ["x"]), ["y"]), undefined);
});
