import { readFileSync } from "node:fs";
import type { Io } from "../io/io.ts";

/** Signals to pass on. Stop and continue need nothing: a terminal sends them to its whole foreground, and both processes obey. */
const FORWARDED: readonly NodeJS.Signals[] = [
	"SIGINT",
	"SIGTERM",
	"SIGHUP",
	"SIGQUIT",
	"SIGUSR1",
	"SIGUSR2",
	"SIGWINCH",
];

/** Signals that a terminal itself sends to its whole foreground: Ctrl-C, Ctrl-\ and a new size. */
const OF_TERMINAL: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT", "SIGWINCH"];

/**
 * Catches signals, which then do not end this process, until disposed of.
 * @param onSignal receives each, and whether a terminal sent it to its whole foreground: a program started there has it already
 */
export function catchSignals(io: Io, onSignal: (signal: NodeJS.Signals, isEverywhere: boolean) => void): Disposable {
	const before = readTerminal();
	const listener = (signal: NodeJS.Signals) => onSignal(signal, isFromTerminal(signal, before));
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
	/** True when this process and its children are in the foreground. */
	readonly isForeground: boolean;
	/** True when this process is the leader of its session, as a shell is. */
	readonly isLeader: boolean;
}

/** Node does not say who sent a signal, so this judges by the process's place in its session: `kill -INT` looks like Ctrl-C. */
function isFromTerminal(signal: NodeJS.Signals, before: Terminal): boolean {
	const now = readTerminal();
	// A terminal that goes away signals only the leader of its session, in most cases the shell: the shell's children learn of it from the
	// shell or from its end.
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
