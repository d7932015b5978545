import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseDotenv } from "../../packages/cli/src/formats/dotenv.ts";
import { EXPORT_FORMATS } from "../../packages/cli/src/formats/export-formats.ts";
import { formatDuration, parseDuration } from "../../packages/protocol/src/duration.ts";
import { parseJson } from "../../packages/protocol/src/json.ts";
import { splitLines } from "../../packages/protocol/src/lines.ts";
import { dataKey, openPortable, openRecord, sealPortable, sealRecord } from "../../packages/server/src/crypto/seal.ts";
import { parseQuery } from "../../packages/server/src/http/input.ts";
import { readPage } from "../../packages/server/src/pagination.ts";
import { parseDn, writeDn } from "../../packages/server/src/sso/ldap/dn.ts";
import { createTestSystem } from "../../packages/server/src/testing/system.ts";
import { element } from "../../packages/x509/src/der.ts";
import { readElements } from "../../packages/x509/src/der-reader.ts";
import { decodePem, encodePem } from "../../packages/x509/src/pem.ts";

/** Fixed, so that every run tries the same inputs: `npm run fuzz` finds new ones. */
const RUNS = { seed: 16, numRuns: 300 };
const { randomBytes } = createTestSystem();
const bytes = (maxLength = 64) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const text = (maxLength = 64) => fc.string({ unit: "binary", maxLength });

test("every JSON document within the bounds is read as JSON.parse reads it", () => {
	const document = fc.json({ maxDepth: 3, stringUnit: "grapheme" });
	const property = fc.property(document, (json) => assert.deepEqual(parseJson(Buffer.from(json)), JSON.parse(json)));
	fc.assert(property, RUNS);
});

test("a query that URLSearchParams writes is read as it was meant", () => {
	const name = text(12).filter((one) => one.isWellFormed());
	const property = fc.property(fc.dictionary(name, name), (query) =>
		assert.deepEqual({ ...parseQuery(`/?${new URLSearchParams(query)}`) }, { ...query }),
	);
	fc.assert(property, RUNS);
});

test("a stream's lines are the same however it is cut", () => {
	const line = bytes(40)
		.map((one) => one.filter((byte) => byte !== 0x0a))
		.map((one) => Buffer.from(one));
	const property = fc.property(fc.array(line), fc.array(fc.nat(50)), (lines, cuts) => {
		const stream = Buffer.concat(lines.flatMap((one) => [one, Buffer.from("\n")]));
		const found: Buffer[] = [];
		const take = splitLines(64, { onLine: (one) => found.push(Buffer.from(one)), onOverflow: () => assert.fail() });
		let at = 0;
		for (const size of [...cuts, stream.length]) {
			take(stream.subarray(at, at + size));
			at += size;
		}
		assert.deepEqual(found, lines);
	});
	fc.assert(property, RUNS);
});

test("sealed text opens to itself, and with another key to nothing", () => {
	const [key, other] = [
		dataKey(Buffer.alloc(8, 1), Buffer.alloc(32, 2)),
		dataKey(Buffer.alloc(8, 1), Buffer.alloc(32, 3)),
	];
	const property = fc.property(
		text().filter((one) => one.isWellFormed()),
		(plain) => {
			const sealed = sealPortable(key, plain, randomBytes);
			assert.equal(
				openPortable(sealed, () => key),
				plain,
			);
			assert.equal(
				openPortable(sealed, () => other),
				undefined,
			);
		},
	);
	fc.assert(property, RUNS);
});

test("a sealed row opens in its own context only", () => {
	const key = dataKey(Buffer.alloc(8, 1), Buffer.alloc(32, 2));
	const context = fc.record({
		...{ label: text(4), realm_id: text(4), environment: text(4) },
		name: text(4),
		row_id: text(4),
	});
	const property = fc.property(bytes(), context, context, (plain, own, other) => {
		const box = sealRecord(key, own, plain, randomBytes);
		assert.deepEqual(openRecord(key, own, box), plain);
		const isSame = Buffer.from(JSON.stringify(own)).equals(Buffer.from(JSON.stringify(other)));
		if (!isSame) assert.equal(openRecord(key, other, box), undefined);
	});
	fc.assert(property, RUNS);
});

test("a cursor leads to what follows its row, in its own list only", async () => {
	const rows = fc.uniqueArray(
		text(20).filter((one) => one.isWellFormed() && one !== ""),
		{ minLength: 2 },
	);
	const property = fc.asyncProperty(rows, async (positions) => {
		const sorted = positions.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
		const page = (list: string, cursor?: string) =>
			readPage(
				Buffer.alloc(32, 1),
				{ limit: 1, cursor },
				{
					list,
					read: async (after, limit) =>
						sorted.slice(after === undefined ? 0 : sorted.indexOf(after) + 1).slice(0, limit),
					position: (row) => row,
					count: async () => sorted.length,
				},
			);
		const { next_cursor } = (await page("own")).pagination;
		assert.deepEqual((await page("own", next_cursor)).rows, sorted.slice(1, 2));
		await assert.rejects(page("other", next_cursor), { code: "invalid_cursor" });
	});
	await fc.assert(property, RUNS);
});

test("a duration that is written reads as it was", () => {
	const property = fc.property(fc.integer({ min: 1, max: 3_000_000_000_000 }), (milliseconds) =>
		assert.equal(parseDuration(formatDuration(milliseconds)), milliseconds),
	);
	fc.assert(property, RUNS);
});

test("DER and PEM are read as they were written", () => {
	const property = fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 0xbf }), bytes(300))), (pairs) => {
		const written = Buffer.concat(pairs.map(([tag, content]) => element(tag, content)));
		assert.deepEqual(
			readElements(written).map(({ tag, content }) => [tag, content]),
			pairs,
		);
		if (written.length > 0) assert.deepEqual(decodePem(encodePem("X", written)), { label: "X", der: written });
	});
	fc.assert(property, RUNS);
});

test("a distinguished name reads as it was written", () => {
	const value = text(12).filter((one) => one.isWellFormed() && one !== "" && !one.includes("\0"));
	const part = fc.record({ type: fc.constantFrom("cn", "ou", "2.5.4.3"), value }, { noNullPrototype: true });
	const name = fc.array(fc.array(part, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 });
	fc.assert(
		fc.property(name, (parts) => assert.deepEqual(parseDn(writeDn(parts)), parts)),
		RUNS,
	);
});

test("what `svc export` writes as dotenv, `svc import` reads", () => {
	const value = text(40).filter((one) => one.isWellFormed() && !one.includes("\0"));
	const entries = fc.dictionary(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,10}$/), value);
	const { dotenv } = EXPORT_FORMATS;
	assert.ok(dotenv);
	const property = fc.property(entries, (values) => {
		const written = Object.entries(values).map(([key, one]) => ({ key, value: one }));
		const read = parseDotenv(dotenv.write(written, { name: "unused" }));
		assert.deepEqual(Object.fromEntries(read.map(({ key, value: one }) => [key, one])), { ...values });
	});
	fc.assert(property, RUNS);
});
