import assert from "node:assert/strict";
import { test } from "node:test";
import {
	bitString,
	element,
	explicit,
	implicit,
	objectId,
	sequence,
	time,
	unsignedInteger,
	utf8String,
} from "./der.ts";

test("every element is written as X.690 demands", () => {
	const table: [string, Buffer, string][] = [
		["zero", unsignedInteger(Uint8Array.of(0, 0)), "020100"],
		["an integer with leading zero bytes", unsignedInteger(Uint8Array.of(0, 0, 5)), "020105"],
		["an integer with the top bit set", unsignedInteger(Uint8Array.of(0x80)), "02020080"],
		["an integer with a zero byte before the top bit", unsignedInteger(Uint8Array.of(0, 0xff)), "020200ff"],
		["an object identifier", objectId("1.2.840.10045.4.3.2"), "06082a8648ce3d040302"],
		["an object identifier of joint-iso-itu-t", objectId("2.5.29.37"), "0603551d25"],
		["a string", utf8String("é"), "0c02c3a9"],
		["a bit string", bitString(Uint8Array.of(0xa0), 5), "030205a0"],
		["an empty sequence", sequence(), "3000"],
		["an implicit context tag", implicit(2, Buffer.from("a")), "820161"],
		["an explicit context tag", explicit(3, sequence()), "a3023000"],
		[
			"the last second of UTCTime",
			time(new Date("2049-12-31T23:59:59Z")),
			Buffer.from("\x17\r491231235959Z").toString("hex"),
		],
		[
			"the first second of GeneralizedTime",
			time(new Date("2050-01-01T00:00:00Z")),
			Buffer.from("\x18\x0f20500101000000Z").toString("hex"),
		],
	];
	for (const [what, actual, expected] of table) {
		assert.equal(actual.toString("hex"), expected, what);
	}
});

test("a length takes as few bytes as it can", () => {
	const table: [number, string][] = [
		[0, "0400"],
		[127, "047f"],
		[128, "048180"],
		[255, "0481ff"],
		[256, "04820100"],
		[65_535, "0482ffff"],
	];
	for (const [length, header] of table) {
		assert.equal(
			element(4, Buffer.alloc(length))
				.subarray(0, header.length / 2)
				.toString("hex"),
			header,
		);
	}
	assert.throws(() => element(4, Buffer.alloc(65_536)), RangeError);
});
