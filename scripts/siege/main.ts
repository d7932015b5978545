/**
 * `npm run siege`: attacks the server in every way of `test/siege`, and shows what an ordinary client gets meanwhile and what is left.
 *
 *   node scripts/siege/main.ts [--only name,name+name] [--runs 3] [--quick] [--seconds 20] [--write a few words]
 *
 * With --write, each run is kept as soon as it is over; the same words again go on where it was interrupted, and measure anew what --only names.
 */
import { parseArgs } from "node:util";
import { ATTACKS, attackNamed, PAIRS } from "../../test/siege/attacks.ts";
import { startGuard } from "../../test/siege/guard.ts";
import { prepareScene } from "../../test/siege/scene.ts";
import { describeMachine } from "../bench/machine.ts";
import { besiege, type Needs, type Resting } from "./besiege.ts";
import { type Kept, keep, readKept } from "./keep.ts";
import { AND, renderTable } from "./page.ts";
import type { Run } from "./result.ts";

/** Events of the audit log that queries and exports have to go through. */
const EVENTS = 20_000;
const WINDOW_MS = 5000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
try {
	await run();
} catch (error) {
	process.stderr.write(`siege: ${error instanceof Error ? error.stack : String(error)}\n`);
	process.exitCode = 1;
}
process.exit();

async function run(): Promise<void> {
	const { values, positionals } = parseArgs({
		options: {
			only: { type: "string" },
			runs: { type: "string", default: "3" },
			quick: { type: "boolean", default: false },
			seconds: { type: "string", default: "20" },
			write: { type: "boolean", default: false },
		},
		allowPositionals: true,
	});
	const wanted = select(values.only);
	const times = {
		idleWindows: 3,
		windows: Math.ceil((Number(values.seconds) * 1000) / WINDOW_MS),
		windowMs: WINDOW_MS,
	};
	const description = positionals.join(" ") || "a siege";
	const begun = values.write ? readKept(description) : undefined;
	const kept: Kept = begun ?? {
		started_at: new Date().toISOString(),
		description,
		machine: describeMachine(),
		attacks: {},
	};
	const attacks: Record<string, Run[]> = Object.fromEntries(
		Object.entries(kept.attacks).map(([name, runs]) => [name, [...runs]]),
	);
	if (values.only !== undefined) for (const names of wanted) delete attacks[names.join(AND)];
	const note = (names: readonly string[], run: Run) => {
		const name = names.join(AND);
		attacks[name] = [...(attacks[name] ?? []), run];
		say(
			renderTable({ [name]: [run] })
				.split("\n")
				.slice(-1)
				.join(),
		);
		if (values.write) keep({ ...kept, attacks });
	};
	const missing = roundsOf(wanted, values.quick ? 1 : Number(values.runs), attacks);
	const scene = await prepareScene({ strength: 1, events: EVENTS });
	const guard = startGuard();
	try {
		await attackAll({ scene, guard, times: { ...times, lingerMs: 40_000, restMs: 60_000 } }, missing, note);
	} finally {
		guard.stop();
		await scene.remove();
	}
	say(`\n${renderTable(attacks)}`);
}

function select(only: string | undefined): readonly (readonly string[])[] {
	if (only === undefined) return [...[...ATTACKS.keys()].map((name) => [name]), ...PAIRS];
	const wanted = only.split(",").map((one) => one.split("+"));
	for (const name of wanted.flat()) attackNamed(name);
	return wanted;
}

/** Each attack once, then each once more: what the machine does in one hour does not fall on one of them. */
function roundsOf(wanted: readonly (readonly string[])[], rounds: number, had: Kept["attacks"]): (readonly string[])[] {
	return Array.from({ length: rounds }, (_, round) =>
		wanted.filter((names) => (had[names.join(AND)]?.length ?? 0) <= round),
	).flat();
}

/** One after the other, but that a server rests while the next is attacked. */
async function attackAll(
	needs: Needs,
	sieges: readonly (readonly string[])[],
	note: (names: readonly string[], run: Run) => void,
): Promise<void> {
	const resting: { names: readonly string[]; siege: Resting; isRested: boolean }[] = [];
	const finish = async (which: (one: { isRested: boolean }) => boolean) => {
		for (const one of resting.filter(which)) {
			resting.splice(resting.indexOf(one), 1);
			note(one.names, await one.siege.finish());
		}
	};
	for (const [at, names] of sieges.entries()) {
		say(`${at + 1} of ${sieges.length}: ${names.join(AND)}`);
		try {
			const one = { names, siege: await besiege(needs, names), isRested: false };
			resting.push(one);
			void one.siege.rested.then(() => {
				one.isRested = true;
			});
		} catch (error) {
			say(`not measured: ${error instanceof Error ? error.message : String(error)}`);
		}
		await finish(({ isRested }) => isRested);
	}
	await finish(() => true);
}
