import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { addressOf, startPostgres } from "../peers/postgres.ts";

/** Milliseconds for all of the files. */
const LONGEST_MS = 10 * 60_000;

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

// biome-ignore lint/style/noProcessEnv: the tests that are run get what these got
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

/**
 * Runs test files with the data of each of their servers on PostgreSQL.
 * @param nodes servers behind each address
 * @param left_out names of tests that do not run
 * @throws AssertionError with the failed tests
 */
export async function runOnPostgres(
	files: readonly string[],
	nodes = 1,
	left_out: readonly string[] = [],
): Promise<void> {
	const postgres = await startPostgres();
	await using _stop = { [Symbol.asyncDispose]: () => postgres.stop() };
	const settings = { SVC_TEST_DATABASE_URL: addressOf(postgres, "postgres"), SVC_TEST_NODES: String(nodes) };
	const skipped = left_out.map((name) => `--test-skip-pattern=${name}`);
	const flags = ["--test", "--test-concurrency=2", "--test-reporter=spec", ...skipped];
	const child = spawn(process.execPath, [...flags, ...files], {
		cwd: REPOSITORY,
		env: { ...environment, ...settings },
		stdio: ["ignore", "pipe", "inherit"],
		timeout: LONGEST_MS,
	});
	const [report] = await Promise.all([text(child.stdout), once(child, "close")]);
	assert.equal(child.exitCode, 0, report.slice(report.indexOf("failing tests:")));
}
