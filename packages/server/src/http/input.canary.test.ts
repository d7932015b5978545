import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { allRoutes } from "../testing/routes.ts";
import { check } from "./input.ts";
import { openApiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";

/** Something good for each field of every body and query. A field that is new has to be added. */
const GOOD: Record<string, unknown> = {
	email: "ada@example.com",
	password: "correct horse battery",
	current_password: "correct horse battery",
	new_password: "correct horse battery",
	name: "Ada",
	slug: "payments",
	description: "text",
	key: "DB/URL",
	value: "text",
	environment: "prod",
	env: "prod",
	comment: "text",
	expires_at: "2090-01-01T00:00:00Z",
	pre_encrypted: false,
	version: 1,
	scopes: "read,write",
	realm: "payments",
	user_id: "01980000-0000-7000-8000-000000000001",
	role: "viewer",
	limit: "10",
	cursor: "cursor",
	include_total: "true",
	type: "secret.set",
	actor: "ada@example.com",
	seq: "1",
	hash: "ab".repeat(32),
	engine: "keyvalue",
	state: "active",
	reason: "text",
};

const NUMBER = 918_273_645;
const LONG = 300_000;

/** Values that show up in a message that repeats them. */
const CANARIES: Record<string, unknown> = {
	"a string": "CANARY",
	"a string of blanks and controls": " \u0000CANARY\n\t",
	"a string of other letters": "ＣＡＮＡＲＹ CANARY é🔑",
	"a string of markup": '<CANARY a="b">',
	"half a character": "CANARY\ud800",
	"an e-mail with two at signs": "CANARY@CANARY@CANARY",
	"a key with dots": "../CANARY",
	"a key with blanks": "CANARY/ /CANARY",
	"a very long string": "CANARY".repeat(LONG / 6),
	"a long password": `CANARY${"x".repeat(1030)}`,
	"almost an instant": "2030-02-30T00:00:00ZCANARY",
	"a number": NUMBER,
	"a negative number": -NUMBER,
	"a broken number": NUMBER + 0.5,
	"a large number": NUMBER * 1e20,
	true: true,
	"a list": ["CANARY", NUMBER],
	"a list of lists": [[["CANARY"]]],
	"an object": { CANARY: "CANARY", value: NUMBER },
	"an object like a prototype": { __proto__: { CANARY: 1 }, constructor: "CANARY" },
	null: null,
};

const TRACE = new RegExp(`CANARY|ＣＡＮＡＲＹ|${NUMBER}`, "i");

const routes = allRoutes();

interface Operation {
	parameters: { name: string; in: string }[];
	requestBody?: { content: { "application/json": { schema: { properties: object } } } };
}

/** Fields of a body or query, from the reference. */
function fieldsOf(route: Route, part: "body" | "query"): string[] {
	const { paths } = openApiDocument([route], "") as { paths: Record<string, Record<string, Operation>> };
	const operation = paths[route.path]?.[route.method.toLowerCase()];
	if (part === "body") return Object.keys(operation?.requestBody?.content["application/json"].schema.properties ?? {});
	return (operation?.parameters ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name);
}

/** A query's values are always strings. */
const goodFor = (part: "body" | "query", field: string) => (part === "query" ? String(GOOD[field]) : GOOD[field]);

for (const route of routes) {
	for (const part of ["body", "query"] as const) {
		const schema = route[part];
		if (schema === undefined) continue;
		const fields = fieldsOf(route, part);
		// What an engine takes is its own.
		if (fields.length === 0) continue;
		const good = Object.fromEntries(fields.map((field) => [field, goodFor(part, field)]));

		test(`the ${part} of ${route.method} ${route.path} is accepted when every field is good`, () => {
			assert.deepEqual(
				fields.filter((field) => !(field in GOOD)),
				[],
				"a good value for each field",
			);
			check(schema, good);
		});

		test(`no message about the ${part} of ${route.method} ${route.path} repeats what was received`, () => {
			let refused = 0;
			for (const field of fields) {
				for (const [what, canary] of Object.entries(CANARIES)) {
					if (part === "query" && typeof canary !== "string") continue;
					try {
						check(schema, { ...good, [field]: canary });
					} catch (error) {
						assert.ok(error instanceof AppError, `${field} with ${what}: ${String(error)}`);
						assert.ok(error.status === 400, `${field} with ${what}`);
						assert.doesNotMatch(JSON.stringify(error) + String(error.cause), TRACE, `${field} with ${what}`);
						assert.match(error.message, /^[a-z].*([^.]|\.\.)$/, "lower case, and no full stop");
						refused++;
					}
				}
			}
			assert.ok(refused > fields.length / 2);
		});
	}
}

/** Bodies of which nothing is required, and those that are an engine's own. */
const NOTHING_REQUIRED = /\/(leases\/revoke|config|generate|validate)$/;

test("every field that is required is asked for by its name", () => {
	for (const route of routes.filter(({ body, path }) => body !== undefined && !NOTHING_REQUIRED.test(path))) {
		const fields = fieldsOf(route, "body");
		const good = Object.fromEntries(fields.map((field) => [field, GOOD[field]]));
		let required = 0;
		for (const field of fields) {
			const { [field]: _, ...rest } = good;
			try {
				check(route.body as never, rest);
			} catch (error) {
				assert.ok(error instanceof AppError);
				assert.deepEqual([error.code, error.message], ["missing_field", `${field} is required`], route.path);
				required++;
			}
		}
		assert.ok(required > 0, route.path);
	}
});
