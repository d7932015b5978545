import { attackNamed } from "../../test/siege/attacks.ts";
import { isFlat } from "./flatness.ts";
import type { Kept } from "./keep.ts";
import { type Judged, judge, type Verdict } from "./verdict.ts";

const HEAD = [
	"attack",
	"p99 on kept connections, idle",
	"attacked",
	"p99 on new connections, idle",
	"attacked",
	"memory above idle",
	"longest turn",
	"not cut off, left after 60 s",
	"SIGTERM",
	"runs",
	"holds",
];

/** Separates the names of two simultaneous attacks. */
export const AND = " + ";

/** The table of a siege in Markdown. */
export function renderTable(attacks: Kept["attacks"]): string {
	const rows = Object.entries(attacks).map(([name, runs]) => rowOf(titleOf(name), judge(name.split(AND), runs)));
	return table(HEAD, rows);
}

/** The table of memory after equal attacks. */
export function renderMemory(memory: Kept["memory"]): string {
	const rows = Object.entries(memory).map(([name, after]) => [
		titleOf(name),
		after.length === 0 ? "" : `${after.map((mb) => mb.toFixed(0)).join(", ")} MB`,
		isFlat(after) ? "yes" : "**no**",
	]);
	return table(["attack", "memory after each of four equal ones", "flat from the third on"], rows);
}

/** The title of an attack, or of simultaneous ones. */
export function titleOf(name: string): string {
	const titles = name.split(AND).map((one) => attackNamed(one).title);
	return titles.join("; ");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The page about a siege. */
export function renderPage({ started_at, description, machine, attacks, memory }: Kept): string {
	const { cores, cpu, memory_gb, kernel, node, load } = machine;
	return `# Siege

\`npm run siege\` attacks the server and looks what an ordinary client gets meanwhile; \`bench/README.md\` is about speed, this page about what is left of it.
\`npm run siege -- --write a few words\` keeps each run in \`results/\` as soon as it is over, and makes this page anew; the same words again go on where it was interrupted.
Some attacks only: \`--only flood,unread+argon2-many\`, which measures them anew; each once instead of three times: \`--quick\`; memory after equal attacks: \`--flat\`. Whole it takes three quarters of an hour, with \`--flat\` a quarter, and wants a machine on which nothing else runs.

How to read it: attackers, ordinary client and server are processes of their own on one machine, each with addresses of its own on loopback. The client asks for a secret 50 times a second on connections that it keeps and 20 times on a new one each, whether or not the
last answer has come; what fails counts as 10 s. *Idle* is what it gets while the same attackers work on a bare node:https server that gives the same answer. A p99 is the median over windows of 5 s and then over the runs; it holds up to three times idle or 50 ms. Windows in which others
took more than a third of the machine do not count; a run that has no other window is noisy, counts only where there is no other run, and is measured again when the siege goes on. Memory (bound: 256 MB above idle, with two attacks at once 400 MB) is the process's high-water mark. *Not cut off*: what the server holds 70 s after attackers fell silent that never close anything, where it must not. *Left*: what it holds more than
before when they have been gone for 60 s. SIGTERM comes while another such attack is under way: 10 s, exit code 0. The longest turn of the event loop is a clock's time, so on a busy machine it is also what others do.

Siege of ${started_at.slice(0, 10)}: ${description}. ${cores} cores (${cpu}), ${memory_gb} GB, Linux ${kernel}, Node ${node}, load average ${load} at the start.

${[renderTable(attacks), Object.keys(memory).length > 0 ? renderMemory(memory) : []].flat().join("\n\n")}
`;
}

function rowOf(title: string, verdict: Verdict): string[] {
	const { idle, kept, fresh, memory, turn, held, left, end, runs, noisy, holds } = verdict;
	return [
		title,
		`${round(idle.kept)} ms`,
		marked(kept, "ms"),
		`${round(idle.fresh)} ms`,
		marked(fresh, "ms"),
		marked(memory, "MB"),
		turn === undefined ? "" : marked(turn, "ms"),
		[...held.map((what) => `**${what}**`), ...left.map((what) => `**${what}**`)].join("; ") || "nothing",
		Number.isFinite(end.value) ? marked({ ...end, value: end.value / 1000 }, "s") : "**no**",
		noisy === 0 ? String(runs) : `${runs}, ${noisy} noisy`,
		holds ? (noisy === runs ? "too noisy to say" : "yes") : "**no**",
	];
}

function marked({ value, holds }: Judged, unit: string): string {
	const text = `${round(value)} ${unit}`;
	return holds ? text : `**${text}**`;
}

function round(value: number): string {
	return value.toFixed(value < 10 ? 1 : 0);
}
