import assert from "node:assert/strict";
import { test } from "node:test";
import { docsRoutes } from "./docs-routes.ts";

const ask = async ({ handle }: ReturnType<typeof docsRoutes>[number], if_none_match?: string) => {
	const headers: Record<string, string> = {};
	const bytes = (await handle({ headers, if_none_match } as never)) as Uint8Array;
	return { bytes, headers };
};

test("each file of the page is read once and kept once, however often it is asked for", async () => {
	const routes = docsRoutes();
	assert.equal(routes.length, 4);
	for (const route of routes) {
		const [first, again] = [await ask(route), await ask(route)];
		assert.ok(first.bytes.length > 0);
		assert.equal(again.bytes, first.bytes, route.path);
		assert.equal((await ask(route, first.headers.etag)).bytes.length, 0);
	}
});
