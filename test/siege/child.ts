import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Order } from "./attacker.ts";
import type { ProbeOrder, Seen } from "./probe.ts";

/** Maximum heap of a siege's child process, in MB. */
const HEAP_MB = 1024;

function start(program: "attacker.ts" | "probe.ts"): ChildProcess {
	const file = fileURLToPath(new URL(program, import.meta.url));
	const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, file], {
		env: {},
		stdio: ["pipe", "pipe", "inherit"],
	});
	child.stdin?.on("error", () => undefined);
	const killWithThis = (): void => void child.kill("SIGKILL");
	process.once("exit", killWithThis);
	child.once("exit", () => process.off("exit", killWithThis));
	return child;
}

function linesOf(child: ChildProcess): AsyncIterator<string> {
	if (child.stdout === null) throw new Error("a child of the siege has no output");
	return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
}

/** An attacker in a separate process. */
export interface Attacker {
	readonly pid: number;
	/** Starts the attack. */
	attack(): void;
	/** Starts nothing new, and keeps connections open. Returns the counts of what happened to it. */
	hold(): Promise<Readonly<Record<string, number>>>;
	/** Ends, and closes all its connections. */
	leave(): Promise<void>;
}

/** Starts an attacker, which prepares the scene and waits. @throws Error when it cannot */
export async function startAttacker(order: Order): Promise<Attacker> {
	const child = start("attacker.ts");
	const lines = linesOf(child);
	const exited = once(child, "exit");
	const say = (line: string): void => void child.stdin?.write(`${line}\n`);
	say(JSON.stringify(order));
	if ((await lines.next()).done === true) throw new Error(`the attacker ${order.attack} ended before it was ready`);
	return {
		pid: child.pid ?? 0,
		attack: () => say("attack"),
		async hold() {
			say("hold");
			const { value } = await lines.next();
			return value === undefined ? {} : (JSON.parse(value) as { counts: Record<string, number> }).counts;
		},
		async leave() {
			child.stdin?.end();
			const late = setTimeout(() => child.kill("SIGKILL"), 5000);
			await exited;
			clearTimeout(late);
		},
	};
}

/** Starts an ordinary client, and yields its observations, window by window, from its beginning. */
export async function startProbe(order: ProbeOrder): Promise<AsyncIterable<Seen>> {
	const child = start("probe.ts");
	const lines = linesOf(child);
	child.stdin?.end(JSON.stringify(order));
	await lines.next();
	return windowsOf(lines);
}

async function* windowsOf(lines: AsyncIterator<string>): AsyncIterable<Seen> {
	for (;;) {
		const { value, done } = await lines.next();
		if (done === true) return;
		yield JSON.parse(value) as Seen;
	}
}
