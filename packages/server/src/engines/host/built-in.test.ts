import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInEntry } from "./built-in.ts";
import type { BuiltInEngine } from "./model.ts";
import { descriptorOf } from "./testing.ts";

const launch = { file: "/opt/svc", arguments: ["plugin", "any"] };
const flagsOf = (node: BuiltInEngine["node"], reads: string[]) =>
	builtInEntry({ descriptor: descriptorOf("any"), network: false, launch, node }, () => ({})).launch(reads);

test("a script gets Node's flags before its own arguments", () => {
	const { file, arguments: args } = flagsOf("arguments", ["/srv/a file"]);
	assert.equal(file, "/opt/svc");
	assert.deepEqual([args[0], ...args.slice(-3)], ["--permission", "--allow-fs-read=/srv/a file", "plugin", "any"]);
});

test("the single binary gets them in its environment, where spaces, quotes and backslashes of a path part nothing", () => {
	const { arguments: args, node_options = "" } = flagsOf("environment", ['/srv/a "file" \\']);
	assert.deepEqual(args, ["plugin", "any"]);
	assert.match(node_options, /^"--permission" /);
	assert.ok(node_options.endsWith(String.raw` "--allow-fs-read=/srv/a \"file\" \\"`), node_options);
});

test("another program gets none", () => {
	assert.deepEqual(flagsOf(false, ["/srv"]), launch);
});
