import assert from "node:assert/strict";
import { test } from "node:test";
import { createConsole } from "./console.ts";

test("the console is off when base_url has a path", () => {
	const unused = {} as Parameters<typeof createConsole>[1];
	assert.equal(createConsole("https://example.test/svc", unused), undefined);
	for (const own of [undefined, "https://example.test", "https://example.test:8443"])
		assert.notEqual(createConsole(own, unused), undefined);
});
