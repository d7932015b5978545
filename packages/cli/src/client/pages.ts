import { Failure } from "../failure.ts";
import type { Printer } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { type Answer, object, rows, text } from "./answer.ts";
import { type Client, send } from "./client.ts";

/** Largest page of the API. Spec: API › Pagination convention. */
const PAGE_SIZE = 100;

/**
 * Yields every row of a list, page by page.
 * @param field name of the collection in the answer
 * @throws Failure as `send` does, and when the pages form a circle
 */
export async function* listAll(
	client: Client,
	path: string,
	field: string,
	query: Readonly<Record<string, string>> = {},
): AsyncGenerator<Answer, void, undefined> {
	const seen = new Set<string>();
	let cursor: string | undefined;
	do {
		const page = { ...query, limit: String(PAGE_SIZE), ...(cursor === undefined ? {} : { cursor }) };
		const answer = await send(client, { method: "GET", path, query: page });
		yield* rows(answer, field);
		const pagination = object(answer, "pagination");
		cursor = pagination.has_more === true ? text(pagination, "next_cursor") : undefined;
		if (cursor !== undefined && seen.has(cursor)) {
			throw new Failure("unreachable", "the server gives the same page twice", { code: "unexpected_answer" });
		}
		if (cursor !== undefined) seen.add(cursor);
	} while (cursor !== undefined);
}

/**
 * All rows of a list; a terminal shows meanwhile how many there are so far.
 * @param field name of the collection in the answer, as a person reads it, too
 * @throws Failure as `listAll` does
 */
export function readAll(
	printer: Printer,
	client: Client,
	path: string,
	field: string,
	query: Readonly<Record<string, string>> = {},
): Promise<Answer[]> {
	return withProgress(printer, `reading ${field}`, async (report) => {
		const found: Answer[] = [];
		for await (const row of listAll(client, path, field, query)) report(`${found.push(row)}`);
		return found;
	});
}
