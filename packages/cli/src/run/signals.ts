import { readFileSync } from "node:fs";
import type { Io } from "../io.ts";

/** What is passed on. Stop and continue need nothing: a terminal sends them to everything in its foreground, and both obey. */
const FORWARDED: readonly NodeJS.Signals[] = [
	"SIGINT",
	"SIGTERM",
	"SIGHUP",
	"SIGQUIT",
	"SIGUSR1",
	"SIGUSR2",
	"SIGWINCH",
];

/** What a terminal sends by itself, to everything in its foreground: Ctrl-C, Ctrl-\ and a new size. */
const OF_TERMINAL: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT", "SIGWINCH"];

/**
 * Hears signals in place of ending by them, until it is disposed of.
 * @param told receives each, and whether a terminal has sent it to everything in its foreground: a program that was started there has it already
 */
export function hearSignals(io: Io, told: (signal: NodeJS.Signals, isEverywhere: boolean) => void): Disposable {
	const before = readTerminal();
	const listener = (signal: NodeJS.Signals) => told(signal, isFromTerminal(signal, before));
	for (const signal of FORWARDED) io.on(signal, listener);
	return {
		[Symbol.dispose]: () => {
			for (const signal of FORWARDED) io.off(signal, listener);
		},
	};
}

/** The controlling terminal of this process. */
interface Terminal {
	readonly isThere: boolean;
	/** Whether this process and what it starts are in the foreground. */
	readonly isForeground: boolean;
	/** Whether this process is the leader of its session, as a shell is. */
	readonly isLeader: boolean;
}

/** Node does not say who has sent a signal, so this goes by where the process is: `kill -INT` cannot be told from Ctrl-C. */
function isFromTerminal(signal: NodeJS.Signals, before: Terminal): boolean {
	const now = readTerminal();
	// A terminal that goes away tells the leader of its session alone, which is the shell in most cases: what the shell started hears it of the
	// shell or of its end.
	if (signal === "SIGHUP") return before.isThere && !now.isThere && !now.isLeader;
	return OF_TERMINAL.includes(signal) && now.isForeground;
}

/** See proc_pid_stat(5): after the name come state, ppid, pgrp, session, tty_nr and tpgid. */
function readTerminal(): Terminal {
	try {
		const stat = readFileSync("/proc/self/stat", "latin1");
		const [pid] = stat.split(" ");
		const [, , pgrp, session, tty, foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return { isThere: tty !== "0", isForeground: tty !== "0" && pgrp === foreground, isLeader: pid === session };
	} catch {
		return { isThere: false, isForeground: false, isLeader: false };
	}
}
