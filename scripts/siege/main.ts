/**
 * `npm run siege`: attacks the server in every way of `test/siege`, and shows what an ordinary client gets meanwhile and what is left.
 *
 *   node scripts/siege/main.ts [--only name,name+name] [--runs 3] [--quick] [--flat] [--seconds 20] [--write a few words]
 *
 * With --write, each run is kept as soon as it is over; the same words resume an interrupted siege, and measure again what --only names.
 */
import { parseArgs } from "node:util";
import { ATTACKS, attackNamed, PAIRS } from "../../test/siege/attacks.ts";
import { startGuard } from "../../test/siege/guard.ts";
import { prepareScene } from "../../test/siege/scene.ts";
import { describeMachine } from "../bench/machine.ts";
import { besiege, type Needs, type Resting } from "./besiege.ts";
import { measureFlatness } from "./flatness.ts";
import { type Kept, keep, readKept } from "./keep.ts";
import { AND, renderMemory, renderTable } from "./page.ts";
import { isNoisy, type Run } from "./result.ts";

/** Events of the audit log that queries and exports have to search. */
const EVENTS = 20_000;
const WINDOW_MS = 5000;
const TIMES = { idleWindows: 3, windowMs: WINDOW_MS, lingerMs: 70_000, restMs: 60_000 } as const;

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
			flat: { type: "boolean", default: false },
			seconds: { type: "string", default: "20" },
			write: { type: "boolean", default: false },
		},
		allowPositionals: true,
	});
	const wanted = select(values.only);
	const kept = begin(positionals.join(" ") || "a siege", values.write);
	const save = () => (values.write ? say(`kept in ${keep(kept)}`) : undefined);
	if (values.only !== undefined)
		for (const names of wanted) delete (values.flat ? kept.memory : kept.attacks)[nameOf(names)];
	const scene = await prepareScene({ strength: 1, events: EVENTS });
	const guard = startGuard();
	const windows = Math.ceil((Number(values.seconds) * 1000) / WINDOW_MS);
	const needs: Needs = { scene, guard, times: { ...TIMES, windows } };
	try {
		if (values.flat) await measureMemory(needs, wanted, kept, save);
		else await attackAll(needs, roundsOf(wanted, values.quick ? 1 : Number(values.runs), kept.attacks), kept, save);
	} finally {
		guard.stop();
		await scene.remove();
	}
	say(`\n${values.flat ? renderMemory(kept.memory) : renderTable(kept.attacks)}`);
}

/** The siege to add to: the one kept under these words, or an empty one. */
interface Growing extends Kept {
	readonly attacks: Record<string, Run[]>;
	readonly memory: Record<string, number[]>;
}

function begin(description: string, isKept: boolean): Growing {
	const begun = isKept ? (readKept(description) as Growing | undefined) : undefined;
	return (
		begun ?? { started_at: new Date().toISOString(), description, machine: describeMachine(), attacks: {}, memory: {} }
	);
}

function nameOf(names: readonly string[]): string {
	return names.join(AND);
}

function select(only: string | undefined): readonly (readonly string[])[] {
	if (only === undefined) return [...[...ATTACKS.keys()].map((name) => [name]), ...PAIRS];
	const wanted = only.split(",").map((one) => one.split("+"));
	for (const name of wanted.flat()) attackNamed(name);
	return wanted;
}

/** Each attack once, then each once more, so that the machine's state in one hour does not fall on one attack. */
function roundsOf(wanted: readonly (readonly string[])[], rounds: number, had: Kept["attacks"]): (readonly string[])[] {
	return Array.from({ length: rounds }, (_, round) =>
		wanted.filter((names) => (had[nameOf(names)] ?? []).filter((run) => !isNoisy(run)).length <= round),
	).flat();
}

/** One after the other, except that a server rests while the next is attacked. */
async function attackAll(needs: Needs, sieges: readonly (readonly string[])[], kept: Growing, save: () => void) {
	const resting: { name: string; siege: Resting; isRested: boolean }[] = [];
	const finish = async (which: (one: { isRested: boolean }) => boolean) => {
		for (const one of resting.filter(which)) {
			resting.splice(resting.indexOf(one), 1);
			await unlessItFails(async () => {
				const run = await one.siege.finish();
				kept.attacks[one.name] = [...(kept.attacks[one.name] ?? []), run];
				say(
					renderTable({ [one.name]: [run] })
						.split("\n")
						.at(-1) ?? "",
				);
				save();
			});
		}
	};
	for (const [at, names] of sieges.entries()) {
		say(`${at + 1} of ${sieges.length}: ${nameOf(names)}`);
		await unlessItFails(async () => {
			const one = { name: nameOf(names), siege: await besiege(needs, names), isRested: false };
			resting.push(one);
			void one.siege.rested.then(() => {
				one.isRested = true;
			});
		});
		await finish(({ isRested }) => isRested);
	}
	await finish(() => true);
}

async function measureMemory(needs: Needs, wanted: readonly (readonly string[])[], kept: Growing, save: () => void) {
	for (const names of wanted.filter((names) => kept.memory[nameOf(names)] === undefined)) {
		await unlessItFails(async () => {
			kept.memory[nameOf(names)] = await measureFlatness(needs, names);
			say(
				renderMemory({ [nameOf(names)]: kept.memory[nameOf(names)] ?? [] })
					.split("\n")
					.at(-1) ?? "",
			);
			save();
		});
	}
}

/** An attack that cannot be measured does not end the siege. */
async function unlessItFails(measure: () => Promise<void>): Promise<void> {
	try {
		await measure();
	} catch (error) {
		say(`not measured: ${error instanceof Error ? error.message : String(error)}`);
	}
}
