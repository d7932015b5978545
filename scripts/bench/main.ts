/**
 * `npm run bench`: measures speed and memory of the server, each scenario next to its yardstick, and prints whether the targets are met.
 *
 *   node scripts/bench/main.ts [--only name,name] [--write a few words]      only a whole run rewrites the page
 *   node scripts/bench/main.ts --only read --profile    where each microsecond goes
 *   node scripts/bench/main.ts --against ../other --rounds 9    processor time compared with another checkout, with its packages installed
 */
import { parseArgs } from "node:util";
import { compareBuilds } from "./builds/compare.ts";
import { keepRun } from "./keep.ts";
import { describeMachine } from "./machine.ts";
import { type Machine, type Outcome, renderTables } from "./report.ts";
import { isMet, type Scenario } from "./scenario.ts";
import { AGAINST_BARE } from "./scenarios/against-bare.ts";
import { BINARY } from "./scenarios/binary.ts";
import { CONSOLE } from "./scenarios/console.ts";
import { GENERATE } from "./scenarios/generate.ts";
import { LEASES_DUE } from "./scenarios/leases-due.ts";
import { LEASES_MILLION } from "./scenarios/leases-million.ts";
import { LOGIN_STORM } from "./scenarios/login-storm.ts";
import { MEMORY } from "./scenarios/memory.ts";
import { PLUGIN_ROUND_TRIP } from "./scenarios/plugin-round-trip.ts";
import { POSTGRES } from "./scenarios/postgres.ts";
import { profileKind } from "./scenarios/profiled.ts";
import { SCALE } from "./scenarios/scale.ts";
import { SSO_LOGIN } from "./scenarios/sso-login.ts";
import { wrkVersion } from "./wrk.ts";

const SCENARIOS: readonly Scenario[] = [
	...AGAINST_BARE,
	...GENERATE,
	...POSTGRES,
	PLUGIN_ROUND_TRIP,
	LOGIN_STORM,
	SSO_LOGIN,
	CONSOLE,
	SCALE,
	LEASES_MILLION,
	LEASES_DUE,
	MEMORY,
	BINARY,
];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

try {
	process.exitCode = await run();
} catch (error) {
	process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
	process.exitCode = 1;
}
process.exit();

/** Returns the exit code: 0 also when a target is missed, because a busy machine is no failure. */
async function run(): Promise<number> {
	const { values, positionals } = parseArgs({
		options: {
			only: { type: "string" },
			write: { type: "boolean", default: false },
			profile: { type: "boolean", default: false },
			against: { type: "string" },
			rounds: { type: "string", default: "9" },
		},
		allowPositionals: true,
	});
	if (values.profile) {
		say(await profileKind(values.only ?? "read"));
		return 0;
	}
	if (values.against !== undefined) {
		say(await compareBuilds(values.against, values.only, Number(values.rounds)));
		return 0;
	}
	const wanted = select(values.only);
	const started_at = new Date().toISOString();
	const machine: Machine = { ...describeMachine(), wrk: wrkVersion() };
	say(`${machine.cores} cores, Node ${machine.node}, wrk ${machine.wrk}, load average ${machine.load}`);
	const outcomes: Outcome[] = [];
	for (const { name, title, run: measure } of wanted) {
		say(`\n— ${name}: ${title}`);
		const outcome: Outcome = { name, title, ...(await measure()) };
		outcomes.push(outcome);
		say(renderTables([outcome]));
	}
	if (outcomes.length > 1) say(`\n${renderTables(outcomes)}`);
	const missed = outcomes.flatMap(({ findings }) => findings).filter((finding) => isMet(finding) === false).length;
	say(missed === 0 ? "\nevery target is met" : `\n${missed} targets are missed`);
	if (values.write)
		say(
			`kept in ${keepRun({ started_at, description: positionals.join(" ") || "a run", machine, outcomes }, values.only === undefined)}`,
		);
	return 0;
}

function select(only: string | undefined): readonly Scenario[] {
	if (only === undefined) return SCENARIOS;
	return only.split(",").map((name) => {
		const found = SCENARIOS.find((scenario) => scenario.name === name);
		if (found !== undefined) return found;
		throw new Error(`--only takes ${SCENARIOS.map((scenario) => scenario.name).join(", ")}`);
	});
}
