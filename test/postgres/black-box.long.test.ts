/* Black-box tests of every kind, with the data of each of their servers on PostgreSQL. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { addressOf, skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** Few files, so that it takes less than two minutes: every other one that looks at no file of SQLite passes, too. */
const FILES = [
	...["secrets", "realms", "tokens", "deleted-secrets", "users", "operator-sync", "audit-events"].map(
		(name) => `test/api/${name}.test.ts`,
	),
	"test/engines/keyvalue.test.ts",
	"test/hostile/paths.test.ts",
	"test/run/lease.test.ts",
];

const TIMEOUT_MS = 60 * 60_000;

// biome-ignore lint/style/noProcessEnv: the tests that are run get what these got
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

test("black-box tests pass with PostgreSQL in place of SQLite", {
	skip: skipWithoutPostgres,
	timeout: TIMEOUT_MS,
}, async () => {
	const postgres = await startPostgres();
	await using _stop = { [Symbol.asyncDispose]: () => postgres.stop() };
	const child = spawn(process.execPath, ["--test", "--test-reporter=spec", ...FILES], {
		cwd: REPOSITORY,
		env: { ...environment, SVC_TEST_DATABASE_URL: addressOf(postgres, "postgres") },
		stdio: ["ignore", "pipe", "inherit"],
	});
	const [report] = await Promise.all([text(child.stdout), once(child, "close")]);
	assert.equal(child.exitCode, 0, report.slice(report.indexOf("failing tests:")));
});
