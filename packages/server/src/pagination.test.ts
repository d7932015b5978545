import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import { AppError } from "./errors.ts";
import { check } from "./http/input.ts";
import { type PageRequest, pageQuery, readPage } from "./pagination.ts";

const KEY = Buffer.alloc(32, 1);
const LENGTH = 60;
const ROWS = Array.from({ length: LENGTH }, (_, index) => `row-${String(index).padStart(3, "0")}`);

/** A list of sixty rows. */
function page(request: Partial<PageRequest> = {}, list = "rows", key = KEY) {
	return readPage(
		key,
		{ limit: 25, ...request },
		{
			list,
			read: async (after, limit) => ROWS.filter((row) => after === undefined || row > after).slice(0, limit),
			position: (row) => row,
			count: async () => LENGTH,
		},
	);
}

const isInvalidCursor = (error: unknown) => error instanceof AppError && error.code === "invalid_cursor";

for (const limit of [1, 7, 20, 25, 30, 59, 60, 61, 100]) {
	test(`pages of ${limit} give every row once and in order, and the last says so`, async () => {
		const collected: string[] = [];
		let cursor: string | undefined;
		let pages = 0;
		do {
			const { rows, pagination } = await page({ limit, cursor });
			assert.ok(rows.length > 0 && rows.length <= limit);
			assert.equal(pagination.has_more, pagination.next_cursor !== undefined);
			collected.push(...rows);
			cursor = pagination.next_cursor;
			pages++;
		} while (cursor !== undefined);
		assert.deepEqual(collected, ROWS);
		assert.equal(pages, Math.ceil(LENGTH / limit));
	});
}

test("an empty list is one page without a cursor", async () => {
	const nothing = { list: "", read: async () => [], position: () => "", count: async () => 0 };
	assert.deepEqual(await readPage(KEY, { limit: 25 }, nothing), { rows: [], pagination: { has_more: false } });
});

test("a total is counted only on request", async () => {
	assert.equal((await page({ include_total: "true" })).pagination.total, LENGTH);
	for (const include_total of ["false", undefined] as const) {
		assert.ok(!("total" in (await page({ include_total })).pagination));
	}
});

test("a cursor shows neither key nor list, fits into an address, and is the same for the same position", async () => {
	const { next_cursor = "" } = (await page()).pagination;
	assert.match(next_cursor, /^[A-Za-z0-9_-]+$/);
	assert.equal((await page()).pagination.next_cursor, next_cursor);
	assert.notEqual((await page({}, "other")).pagination.next_cursor, next_cursor);
});

test("a cursor of another list, or from before the key was changed, is refused", async () => {
	const { next_cursor: cursor } = (await page()).pagination;
	assert.equal((await page({ cursor })).rows[0], "row-025");
	await assert.rejects(page({ cursor }, "rows "), isInvalidCursor);
	await assert.rejects(page({ cursor }, ""), isInvalidCursor);
	await assert.rejects(page({ cursor }, "rows", Buffer.alloc(32, 2)), isInvalidCursor);
});

test("a part of a position cannot be moved into the name of another list", async () => {
	const { next_cursor: cursor = "" } = (await page()).pagination;
	const mac = Buffer.from(cursor, "base64url").subarray(0, 16);
	const position = "row-024";
	assert.equal(Buffer.concat([mac, Buffer.from(position)]).toString("base64url"), cursor);
	for (let length = 1; length < position.length; length++) {
		const list = `rows${position.slice(0, length)}`;
		const moved = Buffer.concat([mac, Buffer.from(position.slice(length))]).toString("base64url");
		await assert.rejects(page({ cursor: moved }, list), isInvalidCursor, list);
	}
});

test("a cursor with any bit changed is refused", async () => {
	const { next_cursor = "" } = (await page()).pagination;
	const bytes = Buffer.from(next_cursor, "base64url");
	for (let bit = 0; bit < bytes.length * 8; bit++) {
		const changed = Buffer.from(bytes);
		changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
		await assert.rejects(page({ cursor: changed.toString("base64url") }), isInvalidCursor, `bit ${bit}`);
	}
});

test("a cursor cut short anywhere is refused, and so is one with more behind it", async () => {
	const { next_cursor = "" } = (await page()).pagination;
	for (let length = 0; length < next_cursor.length; length++) {
		await assert.rejects(page({ cursor: next_cursor.slice(0, length) }), isInvalidCursor, `${length} characters`);
	}
	await assert.rejects(page({ cursor: `${next_cursor}AAAA` }), isInvalidCursor);
});

const FORGED: Record<string, string> = {
	nothing: "",
	"a position": "row-024",
	"a position in base64": Buffer.from("row-024").toString("base64url"),
	"a position with zeros before it": Buffer.concat([Buffer.alloc(16), Buffer.from("row-024")]).toString("base64url"),
	"sixteen bytes": Buffer.alloc(16, 7).toString("base64url"),
	"text of another alphabet": "ключ🔑",
	"statements of a database": "' OR 1=1 --",
	"something very long": "A".repeat(255),
};
for (const [what, cursor] of Object.entries(FORGED)) {
	test(`a forged cursor is refused without repeating it: ${what}`, async () => {
		await assert.rejects(
			page({ cursor }),
			(error) => isInvalidCursor(error) && (cursor === "" || !(error as Error).message.includes(cursor)),
		);
	});
}

const Query = v.object(pageQuery());

const LIMITS: [text: string | undefined, limit: number | undefined][] = [
	[undefined, 25],
	["1", 1],
	["25", 25],
	["99", 99],
	["100", 100],
	["101", 100],
	["1000000", 100],
	["007", 7],
	["0", undefined],
	["00", undefined],
	["-1", undefined],
	["+1", undefined],
	["1.0", undefined],
	["1e2", undefined],
	["0x10", undefined],
	[" 1", undefined],
	["", undefined],
	["ten", undefined],
	["１", undefined],
	["9".repeat(40), undefined],
];
for (const [text, limit] of LIMITS) {
	test(`a limit of ${JSON.stringify(text)} is ${limit ?? "refused"}`, () => {
		const read = () => check(Query, text === undefined ? {} : { limit: text }).limit;
		if (limit !== undefined) assert.equal(read(), limit);
		else assert.throws(read, (error) => error instanceof AppError && error.code === "invalid_limit");
	});
}

test("a list may have another usual limit", () => {
	assert.equal(check(v.object(pageQuery(50)), {}).limit, 50);
});

test("include_total is true or false, and a cursor is at most 256 characters", () => {
	const codeOf = (input: object) => {
		try {
			check(Query, input);
			return "accepted";
		} catch (error) {
			return (error as AppError).code;
		}
	};
	for (const include_total of ["true", "false"]) assert.equal(codeOf({ include_total }), "accepted");
	for (const include_total of ["", "1", "TRUE", "yes"]) assert.equal(codeOf({ include_total }), "validation_failed");
	assert.equal(codeOf({ cursor: "A".repeat(256) }), "accepted");
	assert.equal(codeOf({ cursor: "A".repeat(257) }), "invalid_cursor");
});
