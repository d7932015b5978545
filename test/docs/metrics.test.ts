import assert from "node:assert/strict";
import { test } from "node:test";
import { api } from "../harness/client.ts";
import { startServer } from "../harness.ts";
import { textOf } from "./markdown.ts";

/** The metrics on the page, with the labels of each. */
const page = new Map(
	[...textOf("docs/metrics.md").matchAll(/^\| `(svc_\w+)` +\| ([^|]*)\|/gm)].map(([, name = "", labels = ""]) => [
		name,
		[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
	]),
);

test("the page has every metric of the server with its labels, and no other", async () => {
	await using stack = new AsyncDisposableStack();
	const server = await startServer();
	stack.defer(server.close);
	const client = api(server);
	await client.send("GET", "/api/v1/health");
	const { text } = await client.send("GET", "/metrics");
	const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name);
	assert.deepEqual(new Set(page.keys()), new Set(names));
	for (const name of names) {
		const series = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} `, "m").exec(text)?.[1] ?? "";
		const labels = [...series.matchAll(/(\w+)=/g)].map(([, label]) => label).filter((label) => label !== "le");
		if (series !== "") assert.deepEqual(new Set(labels), new Set(page.get(name)), name);
	}
});
