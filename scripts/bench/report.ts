import type { Figures } from "./rounds.ts";
import { type Finding, isMet, type Result, type Scenario } from "./scenario.ts";

/** Result of a scenario, with its names. */
export type Outcome = Pick<Scenario, "name" | "title"> & Result;

/** The machine of the run, without anything that identifies it. */
export interface Machine {
	readonly cores: number;
	readonly cpu: string;
	readonly memory_gb: number;
	readonly kernel: string;
	readonly node: string;
	readonly wrk: string;
	/** One-minute average at the start of the run. */
	readonly load: number;
}

/** A run as kept on disk. */
export interface RunRecord {
	/** ISO 8601 UTC. */
	readonly started_at: string;
	readonly description: string;
	readonly machine: Machine;
	readonly outcomes: readonly Outcome[];
}

/** The tables of a run in Markdown: targets, servers next to servers, and the other figures. */
export function renderTables(outcomes: readonly Outcome[]): string {
	const sections = [targets(outcomes), comparisons(outcomes), others(outcomes)];
	return sections.filter((section) => section !== "").join("\n\n");
}

/** The page about the latest run. */
export function renderPage({ started_at, description, machine, outcomes }: RunRecord): string {
	const { cores, cpu, memory_gb, kernel, node, wrk, load } = machine;
	return `# Benchmark

\`npm run bench\` compares the server with a bare node:http server that sends the same answer. Both run on one machine and are measured in turn; what counts is
the ratio. \`npm run bench -- --write a few words\` writes this page and saves the run in \`results/\`. It needs wrk, redis-server and openssl on the PATH.
[SIEGE.md](SIEGE.md) is about the server under attack (\`npm run siege\`).

Run of ${started_at.slice(0, 10)}: ${description}. ${cores} cores (${cpu}), ${memory_gb} GB, Linux ${kernel}, Node ${node}, wrk ${wrk}, load average ${load} at the start.
Load generator, both servers, engines and the stores of their credentials share the cores; a figure is the median of three rounds or the extreme that it names.

${renderTables(outcomes)}
`;
}

function targets(outcomes: readonly Outcome[]): string {
	const rows = outcomes.flatMap(({ title, findings }) =>
		findings.flatMap((finding) => {
			const met = isMet(finding);
			if (met === undefined) return [];
			return [[title, finding.measure, target(finding), value(finding), met ? "yes" : "**no**"]];
		}),
	);
	return table(["scenario", "measure", "target", "value", "met"], rows);
}

function comparisons(outcomes: readonly Outcome[]): string {
	const figures: readonly [string, (figures: Figures) => string][] = [
		["req/s", ({ perSecond }) => String(Math.round(perSecond))],
		["p50", ({ p50Ms }) => `${p50Ms.toFixed(2)} ms`],
		["p99", ({ p99Ms }) => `${p99Ms.toFixed(2)} ms`],
		["processor time a request, main thread", ({ mainUs }) => `${mainUs.toFixed(0)} µs`],
		["all threads", ({ allUs }) => `${allUs.toFixed(0)} µs`],
	];
	const rows = outcomes.flatMap(({ title, comparison }) => {
		if (comparison === undefined) return [];
		const { base, ours, baseName } = comparison;
		const cells = (who: Figures) => figures.map(([, show]) => show(who));
		return [
			[title, baseName, ...cells(base)],
			["", "ours", ...cells(ours)],
		];
	});
	return table(["scenario", "server", ...figures.map(([name]) => name)], rows);
}

function others(outcomes: readonly Outcome[]): string {
	const rows = outcomes.flatMap(({ title, findings }) =>
		findings
			.filter((finding) => finding.target === undefined)
			.map((finding) => [title, finding.measure, value(finding)]),
	);
	return table(["scenario", "figure", "value"], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	if (rows.length === 0) return "";
	const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
	const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
	return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function target({ target: wanted, unit }: Finding): string {
	if (wanted === undefined) return "";
	return "atLeast" in wanted ? `≥ ${withUnit(wanted.atLeast, unit)}` : `≤ ${withUnit(wanted.atMost, unit)}`;
}

function value({ value: measured, unit }: Finding): string {
	const digits = unit === "ratio" ? 3 : unit === "MB" || measured >= 100 ? 0 : 2;
	return withUnit(Number(measured.toFixed(digits)), unit);
}

function withUnit(number: number, unit: Finding["unit"]): string {
	return unit === "ratio" ? String(number) : `${number} ${unit}`;
}
