/* The black-box tests of svc, run against the single binary in an otherwise empty folder. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CACHED } from "../harness/program.ts";
import { buildBinary, skipWithoutStrip } from "./built.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** The tests left out below test/engines start the server with their own program, which is not in the binary. */
const PATTERNS = [
	"test/*.test.ts",
	"test/{api,backup,cli,docs,doctor,faults,hostile,keys,run,sso}/**/*.test.ts",
	"test/console/{first-start,pages}.test.ts",
	"test/engines/{*,sdk/*,hostile/{behaviours.long,refused}}.test.ts",
];

/** Starts the server or a command through the harness or that of the fault tests: both accept the binary. */
const BY_HARNESS = /from "[./]*\/(harness|(\w+-)?world|harness\/(\w+-)?world|harness\/cli|process|kept-secret)\.ts"/;

/** The tests from source kill the server more often. */
const KILLS = "25";

/** The tests themselves end what hangs; a quarter of an hour on two cores may be hours on a slow machine. */
const TIMEOUT_MS = 6 * 60 * 60_000;

// biome-ignore lint/style/noProcessEnv: the tests that are run get what these got
const { NODE_TEST_CONTEXT: _, SVC_TEST_BINARY: given, ...environment } = process.env;

const skip = given === undefined ? skipWithoutStrip : "all tests are run with a binary";

test("the black-box tests pass with the single binary in place of the sources", {
	skip,
	timeout: TIMEOUT_MS,
}, async () => {
	await using built = await buildBinary();
	const files = globSync(PATTERNS, { cwd: REPOSITORY }).filter((file) =>
		BY_HARNESS.test(readFileSync(`${REPOSITORY}${file}`, "utf8")),
	);
	assert.ok(files.length > 75, `${files.length} files start the server`);
	const child = spawn(
		process.execPath,
		[...CACHED, "--test", "--test-concurrency=1", "--test-reporter=spec", ...files],
		{
			cwd: REPOSITORY,
			env: { SVC_TEST_KILLS: KILLS, ...environment, SVC_TEST_BINARY: built.file },
			stdio: ["ignore", "pipe", "inherit"],
		},
	);
	const [report] = await Promise.all([text(child.stdout), once(child, "close")]);
	assert.equal(child.exitCode, 0, report.slice(report.indexOf("failing tests:")));
});
