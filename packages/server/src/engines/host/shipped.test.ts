import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShippedEngine } from "./catalog.ts";
import { shippedEntry } from "./shipped.ts";
import { descriptorOf } from "./testing.ts";

const launch = { file: "/opt/svc", arguments: ["plugin", "any"] };
const flagsOf = (node: ShippedEngine["node"], reads: string[]) =>
	shippedEntry({ descriptor: descriptorOf("any"), network: false, launch, node }).launch(reads);

test("a script gets Node's flags before its own arguments", () => {
	const { file, arguments: args } = flagsOf("arguments", ["/srv/a file"]);
	assert.equal(file, "/opt/svc");
	assert.deepEqual([args[0], ...args.slice(-3)], ["--permission", "--allow-fs-read=/srv/a file", "plugin", "any"]);
});

test("a single executable gets them in one word, in which spaces, quotes and backslashes of a path part nothing", () => {
	const { arguments: args } = flagsOf("single-executable", ['/srv/a "file" \\']);
	const [first = "", ...others] = args;
	assert.match(first, /^--node-options="--permission" /);
	assert.ok(first.endsWith(String.raw` "--allow-fs-read=/srv/a \"file\" \\"`), first);
	assert.deepEqual(others, ["plugin", "any"]);
});

test("another program gets none", () => {
	assert.deepEqual(flagsOf(false, ["/srv"]), launch);
});
