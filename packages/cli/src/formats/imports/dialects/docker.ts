import type { Dialect } from "../cursor.ts";
import { DotenvError, take } from "../cursor.ts";

/** Files for `docker run --env-file`: a value is the rest of its line, quotes included. */
export const docker: Dialect = {
	between: /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y,
	key: /[^\S\n]*([^\s=]+)(?==|[^\S\n]*(?:\n|$))/y,
	value(cursor) {
		const { line } = cursor;
		if (!take(cursor, /=/y)) throw new DotenvError(line, "has no value: docker takes it from its own environment");
		return take(cursor, /([^\n]*?)\r?(?:\n|$)/y)?.[1] ?? "";
	},
};
