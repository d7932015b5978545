import { createHmac, timingSafeEqual } from "node:crypto";
import * as v from "valibot";
import { AppError, Unfinished } from "./errors.ts";
import { Count, errorMessage } from "./messages.ts";
import type { Awaitable } from "./operation.ts";

/** Largest page, and the default. Spec: API › Limits. */
const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 25;

const MAC_BYTES = 16;

/** Length of our longest cursor, in characters. */
const MAX_CURSOR = 256;

const Limit = (usual: number) =>
	v.pipe(
		v.optional(v.string(), String(usual)),
		v.metadata({ type: "integer", minimum: 1, maximum: MAX_LIMIT, default: usual }),
		v.regex(/^[0-9]{1,15}$/, errorMessage("invalid_limit", "limit must be a whole number from 1 to 100")),
		v.transform(Number),
		v.minValue(1, errorMessage("invalid_limit", "limit must be a whole number from 1 to 100")),
		v.transform((limit) => Math.min(limit, MAX_LIMIT)),
	);

/** The query parameters of a paginated list. Spec: API › Pagination convention. */
export const pageQuery = (usual = DEFAULT_LIMIT) => ({
	limit: Limit(usual),
	cursor: v.optional(
		v.pipe(v.string(), v.maxLength(MAX_CURSOR, errorMessage("invalid_cursor", "cursor is not from this list"))),
	),
	include_total: v.optional(
		v.pipe(v.picklist(["true", "false"], errorMessage("validation_failed", "include_total must be true or false"))),
	),
});

/** A caller's request for a page of a list. */
export interface PageRequest {
	limit: number;
	cursor?: string | undefined;
	include_total?: "true" | "false" | undefined;
}

export interface Pagination {
	next_cursor?: string;
	has_more: boolean;
	total?: number;
}

/** In answers. */
export const PaginationSchema = v.object({
	next_cursor: v.optional(v.string()),
	has_more: v.boolean(),
	total: v.optional(Count),
});

/** Source of a list's rows. */
interface Source<Row> {
	/** Names the list and its filters: a cursor is valid for this list only. */
	list: string;
	/** Rows after the position (undefined: from the start), at most `limit`. */
	read(after: string | undefined, limit: number): Awaitable<Row[]>;
	/** Position of a row. */
	position(row: Row): string;
	/** Position of what was not found in time; that of the store by default. */
	rest?(position: string): string;
	count(): Awaitable<number>;
}

/**
 * Reads one page of a list.
 * @param macKey authenticates cursors, so that a caller can neither read nor forge a position
 * A page whose rows take too long to find has those found by then, which may be none, and a cursor.
 * @throws AppError invalid_cursor when this list did not issue the cursor
 * Spec: API › Pagination convention
 */
export async function readPage<Row>(
	macKey: Buffer,
	request: PageRequest,
	source: Source<Row>,
): Promise<{ rows: Row[]; pagination: Pagination }> {
	const after = request.cursor === undefined ? undefined : openCursor(macKey, source.list, request.cursor);
	const { rows, rest } = await readSome(source, after, request.limit + 1);
	const page = rows.slice(0, request.limit);
	const last = page.at(-1);
	const next = rows.length > request.limit && last !== undefined ? source.position(last) : rest;
	return {
		rows: page,
		pagination: {
			...(next === undefined ? {} : { next_cursor: makeCursor(macKey, source.list, next) }),
			has_more: next !== undefined,
			...(request.include_total === "true" ? { total: await source.count() } : {}),
		},
	};
}

/** Reads rows, or those found in time and the position of the rest. */
async function readSome<Row>(
	{ read, rest = (position) => position }: Source<Row>,
	after: string | undefined,
	limit: number,
): Promise<{ rows: Row[]; rest?: string }> {
	try {
		return { rows: await read(after, limit) };
	} catch (error) {
		if (!(error instanceof Unfinished)) throw error;
		return { rows: error.found.rows as Row[], rest: rest(error.found.rest) };
	}
}

function mac(key: Buffer, list: string, position: string): Buffer {
	return createHmac("sha256", key).update(`${list}\0${position}`).digest().subarray(0, MAC_BYTES);
}

function makeCursor(key: Buffer, list: string, position: string): string {
	return Buffer.concat([mac(key, list, position), Buffer.from(position)]).toString("base64url");
}

function openCursor(key: Buffer, list: string, cursor: string): string {
	const bytes = Buffer.from(cursor, "base64url");
	const position = bytes.subarray(MAC_BYTES).toString();
	const isOurs = bytes.length > MAC_BYTES && timingSafeEqual(bytes.subarray(0, MAC_BYTES), mac(key, list, position));
	if (!isOurs) throw new AppError("invalid_cursor", "cursor is not from this list: start again without it");
	return position;
}
