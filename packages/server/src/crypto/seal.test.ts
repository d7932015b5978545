import assert from "node:assert/strict";
import { test } from "node:test";
import { system } from "../system.ts";
import {
	type DataKey,
	dataKey,
	type EncryptionContext,
	keyIdOf,
	openPortable,
	openRecord,
	sealPortable,
	sealRecord,
} from "./seal.ts";

const { randomBytes } = system;
const KEY = dataKey(Buffer.from("0102030405060708", "hex"), Buffer.alloc(32, 7));
const OTHER = dataKey(Buffer.from("1112131415161718", "hex"), Buffer.alloc(32, 8));
const CONTEXT: EncryptionContext = {
	label: "secret.value",
	realm_id: "realm",
	environment: "prod",
	name: "KEY",
	row_id: "row",
};
const SECRET = Buffer.from("a secret");

const keyById = (id: Buffer): DataKey | undefined => [KEY, OTHER].find((key) => key.id.equals(id));
const openText = (text: string) => openPortable(text, keyById);
const portable = (box: Buffer) => `svc:v1:${box.toString("base64url")}`;
const boxOf = (text: string) => Buffer.from(text.slice("svc:v1:".length), "base64url");

/** Yields every copy of a box with one bit flipped. */
function* flips(box: Buffer): Generator<Buffer> {
	for (let bit = 0; bit < box.length * 8; bit++) {
		const flipped = Buffer.from(box);
		flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
		yield flipped;
	}
}

test("a record opens in its own context with its own key", () => {
	for (const plaintext of [SECRET, Buffer.alloc(0), Buffer.from("ключ 🔑\0\n"), randomBytes(256 * 1024)]) {
		const box = sealRecord(KEY, CONTEXT, plaintext, randomBytes);
		assert.equal(box.length, plaintext.length + 49);
		assert.deepEqual(keyIdOf(box), KEY.id);
		assert.ok(openRecord(KEY, CONTEXT, box)?.equals(plaintext));
		assert.equal(openRecord(OTHER, CONTEXT, box), undefined);
	}
});

const MOVED: Record<string, EncryptionContext> = {
	"another column": { ...CONTEXT, label: "secret.comment" },
	"another realm": { ...CONTEXT, realm_id: "realm2" },
	"no realm": { ...CONTEXT, realm_id: "" },
	"another environment": { ...CONTEXT, environment: "dev" },
	"another key": { ...CONTEXT, name: "key" },
	"another row": { ...CONTEXT, row_id: "row2" },
	"the same letters cut elsewhere": { ...CONTEXT, name: "KEYr", row_id: "ow" },
	"a part slipped into its neighbour": { ...CONTEXT, environment: "", name: "prodKEY" },
	"two parts exchanged": { ...CONTEXT, name: "row", row_id: "KEY" },
};
for (const [where, context] of Object.entries(MOVED)) {
	test(`a record moved to ${where} does not open`, () => {
		assert.equal(openRecord(KEY, context, sealRecord(KEY, CONTEXT, SECRET, randomBytes)), undefined);
	});
}

test("names that imitate the lengths between them do not make two contexts the same", () => {
	const joints = ["\0\0\0\0", "\0\0\0\u0001", "\0\0\0\u0003"];
	for (const joint of joints) {
		const box = sealRecord(KEY, { ...CONTEXT, name: `a${joint}b`, row_id: "c" }, SECRET, randomBytes);
		assert.equal(openRecord(KEY, { ...CONTEXT, name: "a", row_id: `b${joint}c` }, box), undefined);
	}
});

test("a record with any one bit turned over, cut short or made longer does not open", () => {
	const box = sealRecord(KEY, CONTEXT, SECRET, randomBytes);
	for (const flipped of flips(box)) assert.equal(openRecord(KEY, CONTEXT, flipped), undefined);
	for (let length = 0; length < box.length; length++)
		assert.equal(openRecord(KEY, CONTEXT, box.subarray(0, length)), undefined);
	assert.equal(openRecord(KEY, CONTEXT, Buffer.concat([box, Buffer.alloc(1)])), undefined);
});

test("anything that is not a box names no key", () => {
	const box = sealRecord(KEY, CONTEXT, Buffer.alloc(0), randomBytes);
	assert.equal(keyIdOf(box.subarray(0, -1)), undefined);
	assert.equal(keyIdOf(Buffer.concat([Buffer.from([2]), box.subarray(1)])), undefined);
});

test("portable text opens with the key it names", () => {
	for (const [key, plaintext] of [
		[KEY, "a secret"],
		[OTHER, ""],
		[KEY, "ключ 🔑\0\n"],
		[KEY, "x".repeat(256 * 1024)],
	] as const) {
		const text = sealPortable(key, plaintext, randomBytes);
		assert.match(text, /^svc:v1:[A-Za-z0-9_-]+$/);
		assert.equal(openText(text), plaintext);
	}
});

test("portable text and records do not pass for one another", () => {
	assert.equal(openText(portable(sealRecord(KEY, CONTEXT, SECRET, randomBytes))), undefined);
	assert.equal(openRecord(KEY, CONTEXT, boxOf(sealPortable(KEY, "a secret", randomBytes))), undefined);
});

test("portable text with any one bit turned over, cut short or made longer is not ours", () => {
	const text = sealPortable(KEY, "a secret", randomBytes);
	for (const flipped of flips(boxOf(text))) assert.equal(openText(portable(flipped)), undefined);
	for (let length = 0; length < text.length; length++) assert.equal(openText(text.slice(0, length)), undefined);
	for (const more of ["A", "AA", "AAAA", "=", " ", "\n", "\0", "é"]) assert.equal(openText(text + more), undefined);
});

test("portable text in another spelling of base64 is not ours", () => {
	// 57 bytes and 76 characters: no padding; 58 bytes: two bits in the last character that a decoder drops.
	const whole = sealPortable(KEY, "a secret", () => Buffer.alloc(24, 0xff));
	const loose = sealPortable(KEY, "a secret!", () => Buffer.alloc(24, 0xff));
	const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".indexOf(loose.slice(-1));
	const spellings = [
		whole.replace("svc:v1:", "SVC:v1:"),
		whole.replaceAll("_", "/"),
		`${whole.slice(0, 30)}\n${whole.slice(30)}`,
		`${whole.slice(0, 30)} ${whole.slice(30)}`,
		`${whole.slice(0, 9)}=${whole.slice(9)}`,
		`${loose}==`,
		`${loose.slice(0, -1)}${"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last + 1]}`,
	];
	assert.equal(openText(whole), "a secret");
	assert.equal(openText(loose), "a secret!");
	for (const [index, spelling] of spellings.entries()) assert.equal(openText(spelling), undefined, `spelling ${index}`);
});

test("portable text of another suite, key or size is not ours and does no harm", () => {
	const box = boxOf(sealPortable(KEY, "a secret", randomBytes));
	const stranger = dataKey(Buffer.alloc(8, 9), Buffer.alloc(32, 9));
	for (const suite of [0, 2, 255])
		assert.equal(openText(portable(Buffer.concat([Buffer.from([suite]), box.subarray(1)]))), undefined);
	assert.equal(openText(sealPortable(stranger, "a secret", randomBytes)), undefined);
	for (const text of ["", "svc:v1:", "svc:v1:A", "svc:v2:AAAA", "svc:v1", "\ud800", `svc:v1:${"\ud800".repeat(100)}`]) {
		assert.equal(openText(text), undefined);
	}
	assert.equal(openText(`svc:v1:${"A".repeat(10_000_000)}`), undefined);
	assert.equal(openText(portable(box) + "A".repeat(10_000_000)), undefined);
});

test("a hundred thousand boxes have as many nonces", () => {
	const nonces = new Set<string>();
	for (let round = 0; round < 100_000; round++) {
		nonces.add(sealRecord(KEY, CONTEXT, SECRET, randomBytes).toString("latin1", 9, 33));
	}
	assert.equal(nonces.size, 100_000);
});

test("a key id of the wrong length is refused", () => {
	assert.throws(() => dataKey(Buffer.alloc(7), Buffer.alloc(32)), RangeError);
});
