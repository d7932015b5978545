import { url as debuggerUrl } from "node:inspector";
import { FatalError } from "@svc/server";

/** Variables that open a debugger, write session keys or traffic to a file, believe every certificate, or put other code into the process. */
const VARIABLES = [
	"NODE_OPTIONS",
	"NODE_DEBUG",
	"NODE_DEBUG_NATIVE",
	"NODE_TLS_REJECT_UNAUTHORIZED",
	"SSLKEYLOGFILE",
	"LD_PRELOAD",
	"LD_AUDIT",
];

/** Flags of Node that do the same, or write memory to a file. */
const FLAGS = /^--(inspect|tls-keylog|trace-tls|heapsnapshot|heap-prof|report)/;

/**
 * Refuses to serve secrets from a process that others were let into.
 * @throws FatalError naming what is in the way
 */
export function refuseOpenDoors({ env, execArgv }: Pick<NodeJS.Process, "env" | "execArgv">): void {
	const variable = VARIABLES.find((name) => env[name]);
	if (variable !== undefined)
		throw new FatalError(`${variable} is set, which could give secrets away: unset it and start again`);
	if (execArgv.some((flag) => FLAGS.test(flag)) || debuggerUrl() !== undefined)
		throw new FatalError("Node was started with a debugger, a report or a key log: start again without that flag");
}
