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
	"within bounds",
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

\`npm run siege\` attacks the server and measures what an ordinary client gets meanwhile. [README.md](README.md) is about the server's speed without an attack.

- \`npm run siege -- --write a few words\` saves each run in \`results/\` when it ends, and writes this page again. The same words resume an interrupted siege.
- \`--only flood,unread+argon2-many\` measures these attacks and replaces their earlier runs.
- \`--quick\` makes one run of each attack instead of three.
- \`--flat\` measures the memory after equal attacks.

A siege takes three quarters of an hour, and a quarter with \`--flat\`. Run nothing else on the machine.

The attackers, the ordinary client and the server are separate processes on one machine, each with its own loopback addresses. The client requests a secret 50 times a second on connections that it keeps, and 20 times a second on a new connection each. It never waits for an earlier answer. A failed request counts as 10 s.

- **Idle** is the client's figure while the same attackers work on a bare node:https server that sends the same answer.
- **p99** is the median over windows of 5 s, then over the runs. The bound is three times idle, but at least 50 ms. A window in which other programs used more than a third of the machine does not count. If a run has no other window, it is noisy: it counts only if the attack has no quiet run, and the siege repeats it when you resume.
- **Memory above idle** is the process's peak minus its memory before the attack. The bound is 256 MB, and 400 MB for two attacks together.
- **Longest turn** is the longest turn of the event loop, by the clock. A figure over 50 ms is bold, but within bounds: on a busy machine, it includes the time of other programs.
- **Not cut off** names what the server still holds 70 s after the attackers' last action. It counts only for attackers whose connections the server must close.
- **Left after 60 s** names what the server holds more than before, 60 s after the attackers have left.
- **SIGTERM** is the time the server takes to end during a second such attack. The bound is 10 s, with exit code 0.

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
