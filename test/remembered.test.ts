/* What a server remembers between requests is in a table of ADR 18, which says why it holds on every node that shares the store. */
import assert from "node:assert/strict";
import { matchesGlob } from "node:path";
import { test } from "node:test";
import { files, importsOf, isTest, read } from "./harness/sources.ts";

const SERVER = "packages/server/src/";
const TABLE = "packages/server/adr/0018-equal-nodes.md";

/** Ways in which code keeps something longer than a request: caches and counters, fields of classes, and variables of modules. */
const KEEPS = [
	/\bcreateCache[(<]/,
	/\bnew (?:FairCache|LRUCache|AttemptCounter|UsedCounts|WeakMap)\b/,
	/^\s*(?:readonly )?#\w+ = new (?:Map|Set|WeakMap)\b/m,
	/^(?:export )?let \w+/m,
	/^(?:export )?const \w+ = new (?:Map|Set)(?:<.*>)?\(\)/m,
];

/** The files and folders that the table names. */
const named = read(TABLE)
	.split("\n")
	.filter((line) => line.startsWith("| "))
	.flatMap((line) => [...(line.split(" | ")[1] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""));

const isNamed = (file: string) =>
	named.some((name) => (name.endsWith("/") ? file.startsWith(name) : matchesGlob(file, name)));

const own = files.filter((file) => file.startsWith(SERVER) && !isTest(file)).map((file) => file.slice(SERVER.length));

test("what a server remembers is in the table, with the reason why it holds on every node", () => {
	const remembering = own.filter((file) => KEEPS.some((pattern) => pattern.test(read(SERVER + file))));
	assert.ok(remembering.length > 30, `${remembering.length}`);
	assert.deepEqual(
		remembering.filter((file) => !isNamed(file)),
		[],
	);
});

test("the adapter for PostgreSQL remembers answers in two places, under marks, and nothing with what SQLite remembers", () => {
	const REMEMBERS = /(^|\/)(cache|fair-cache|used-counts)\.ts$|lru-cache/;
	const users = own.filter((file) => file.startsWith("store/postgres/"));
	assert.ok(users.length > 50, `${users.length}`);
	assert.deepEqual(
		users.filter((file) => importsOf(SERVER + file).some((path) => REMEMBERS.test(path))),
		["store/postgres/proved-answers.ts", "store/postgres/writes/current-access.ts"],
	);
});
