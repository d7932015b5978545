import assert from "node:assert/strict";
import test from "node:test";
import { notFound } from "./not-found.ts";

test("a failure names what was typed, where it was looked for, and what is near", () => {
	const hint = "`svc secret list` shows the keys";
	const one = notFound({ noun: "secret", typed: ["DB_URL"], within: "shop/dev", known: ["DB_URI", "API_KEY"], hint });
	assert.deepEqual([one.exitCode, one.message], [4, "secret DB_URL not found in shop/dev"]);
	assert.match(one.hint ?? "", /\bDB_URI\? `svc secret list` /);
	const two = notFound({ noun: "secret", typed: ["DB_URL", "API_KEYS"], known: ["DB_URI", "API_KEY"] });
	assert.equal(two.message, "secrets DB_URL, API_KEYS not found");
	assert.match(two.hint ?? "", /\bDB_URI\?.*\bAPI_KEY\?$/);
	assert.equal(notFound({ noun: "realm", typed: ["shop"] }).hint, undefined);
});

const UNNAMED = [
	"svc_9dKq2vXw7RbTzLmN4pYs8HcJ3fGa6EuQ1iVoBxCnDkWrMt",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	"svc:v1:AQAAAAAAAAAA",
	"ghp_hunter2hunter2",
	"AKIAIOSFODNN7EXAMPLEKEYS",
	"hunter2!",
	"KEY=hunter2",
	"two words",
	"\u001b[2J",
	"K".repeat(200),
];

for (const typed of UNNAMED) {
	test(`${JSON.stringify(typed)} may be a secret, so no failure repeats it`, () => {
		const failure = notFound({ noun: "secret", typed: [typed], within: "shop/dev", known: [`${typed}1`, "KEY"] });
		assert.equal(failure.message, "secret not found in shop/dev");
		assert.equal(failure.hint, undefined);
	});
}
