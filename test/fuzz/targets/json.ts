import assert from "node:assert/strict";
import { JsonError, parseJson } from "../../../packages/protocol/src/json.ts";
import { accepted, type Target } from "../target.ts";

/** A body parses as with JSON.parse or is refused; input that JSON.parse refuses is always refused. */
export const json: Target = {
	sources: ["packages/protocol/src/json.ts"],
	max_bytes: 1024 * 1024,
	seeds: ['{"a":[1,-2.5e3,true,false,null,"\\u00e9\\n"],"b":{"c":{}}}', "[]", '{"\\u0061":1,"b":2}'],
	tokens: ['"', "\\", "\\u0061", "\\x0", "{", "}", "[", "]", ":", ",", '{"a":', '"a":', "[[", "1e5", "null", "\u00e9"],
	parse: (input) => accepted(JsonError, () => parseJson(input)),
	check(input) {
		const found = accepted(JsonError, () => ({ value: parseJson(input) }));
		if (found !== undefined) assert.deepEqual(found.value, JSON.parse(input.toString()));
	},
};
