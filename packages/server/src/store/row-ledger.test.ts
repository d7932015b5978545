import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createRowMacs } from "../crypto/row-macs.ts";
import { openTipBox, type RowState, sealTip, tipSealer } from "./row-ledger.ts";

const key = (fill: number) => ({ id: Buffer.alloc(8, fill), bytes: Buffer.alloc(32, fill) });
const [OURS, NEXT] = [key(1), key(3)];
const macs = createRowMacs([OURS, NEXT], randomBytes);
const rows: RowState = {
	active: macs.active,
	sums: new Map([
		[macs.active, { access: 2n ** 255n, content: 7n }],
		[NEXT.id.toString("hex"), { access: 0n, content: 1n }],
	]),
	newest: "id 9",
	keys: 3,
	marks: { access: "4f1b", secrets: "90aa", configs: "c3d2" },
};
const hash = randomBytes(32);
/** Place of the rows' box in a tip in two parts. */
const BOX_AT = 81;

/** Seals tips one after another, each at the next event. */
function sealEach(...states: RowState[]): Buffer[] {
	const seal = tipSealer(macs);
	return states.map((state, index) => seal({ seq: index + 1, hash, rows: state }));
}

test("a tip says the same whether its rows changed or only events were added", () => {
	const sealed = sealEach(rows, rows, rows, { ...rows, keys: 4 }, rows);
	assert.deepEqual(
		sealed.map((box) => openTipBox(box, macs)),
		[3, 3, 3, 4, 3].map((keys, index) => ({ seq: index + 1, hash, rows: { ...rows, keys } })),
	);
	assert.deepEqual(
		sealed.map(([first]) => first),
		[1, 2, 2, 1, 1],
	);
});

test("no byte of a tip can be altered, left out or added", () => {
	for (const sealed of sealEach(rows, rows))
		for (let at = 0; at < sealed.length; at++) {
			const altered = Buffer.from(sealed);
			altered[at] = (altered[at] ?? 0) ^ 1;
			assert.equal(openTipBox(altered, macs), undefined, `byte ${at}`);
			assert.equal(openTipBox(sealed.subarray(0, at), macs), undefined, `${at} bytes`);
		}
	for (const sealed of sealEach(rows, rows))
		assert.equal(openTipBox(Buffer.concat([sealed, Buffer.of(0)]), macs), undefined);
});

test("neither part of a tip fits the other part of another tip, nor stands alone", () => {
	const [, earlier = assert.fail()] = sealEach(rows, rows);
	const [mine = assert.fail(), theirs = assert.fail()] = [
		sealEach(rows, rows)[1],
		sealEach({ ...rows, keys: 4 }, { ...rows, keys: 4 })[1],
	];
	const mixed = (end: Buffer, box: Buffer) => Buffer.concat([end.subarray(0, BOX_AT), box.subarray(BOX_AT)]);
	for (const [end, box] of [
		[mine, theirs],
		[theirs, mine],
		[earlier, mine],
	] as const)
		assert.equal(openTipBox(mixed(end, box), macs), undefined);
	assert.equal(openTipBox(mine.subarray(BOX_AT), macs), undefined);
});

test("a tip of another server's key does not open", () => {
	const strangers = createRowMacs([key(5)], randomBytes);
	for (const sealed of [...sealEach(rows, rows), sealTip({ seq: 1, hash, rows }, macs)])
		assert.equal(openTipBox(sealed, strangers), undefined);
});
