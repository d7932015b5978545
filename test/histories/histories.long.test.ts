/* Histories of three servers that share a database: clients work on all of them while they and the database are disturbed, and every answer is checked. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { faultSettings } from "../faults/settings.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import type { Disturbance } from "./nemesis.ts";
import { runHistory } from "./run.ts";

const options = { skip: skipWithoutPostgres };
const { seed, history_seconds } = faultSettings();

/** Findings in the message of a test that fails. */
const MOST_SHOWN = 20;

test(
	`no answer of three servers contradicts another in ${history_seconds} seconds of disturbances`,
	options,
	async (t) => {
		const { found, operations, acts } = await runHistory({ seed, seconds: history_seconds });
		const outcomes = Object.groupBy(operations, ({ kind, outcome }) => `${kind} ${outcome}`);
		const counts = Object.entries(outcomes).map(([name, ofName]) => `${name} ${ofName?.length}`);
		t.diagnostic(
			`seed ${seed}; ${[...acts].map(([name, count]) => `${name} ${count}`).join(", ")}; ${counts.join(", ")}`,
		);
		if (found.length === 0) return;
		const file = join(tmpdir(), `svc-history-${seed}.json`);
		await writeFile(file, JSON.stringify({ found, operations }));
		assert.fail(`${found.slice(0, MOST_SHOWN).join("\n")}\nhistory: ${file}`);
	},
);

/** Seconds in which a planted fault must show. */
const FAULT_SECONDS = 8;

/** For each planted fault, a disturbance that it needs, and what is found. */
const FINDINGS: readonly (readonly [fault: string, acts: readonly Disturbance[], found: RegExp])[] = [
	["an answer before the commit", [], /^(a version goes back|no order explains)/],
	["a remembered token without a proof", [], /^a revoked token is used/],
	["a remembered secret without a proof", [], /^a version goes back/],
	["a claim that takes what another server has", [], /^two servers remove/],
	[
		"a lost commit that is looked for without the lock",
		["late"],
		/^(a value whose write was refused|1 events in place of 0)/,
	],
];

/** Runs that may pass without it, on a machine that has little time for the clients. */
const TRIES = 3;

for (const [fault, acts, expected] of FINDINGS) {
	test(`the histories find ${fault}`, options, async (t) => {
		for (let turn = 1; turn <= TRIES; turn++) {
			const { found } = await runHistory({ seed: seed + turn, seconds: FAULT_SECONDS, fault, acts });
			t.diagnostic(`seed ${seed + turn}; ${found.length} findings`);
			if (found.some((one) => expected.test(one))) return;
		}
		assert.fail(`nothing was found in ${TRIES} runs`);
	});
}
