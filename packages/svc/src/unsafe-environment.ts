import { url as debuggerUrl } from "node:inspector";
import { FatalError } from "@svc/server";

/**
 * Variables that open a debugger, write session keys or traffic to a file, trust every certificate, or put other code into the process:
 * through Node, the loader of libraries, glibc, OpenSSL, or the package of a native library. Not NODE_PATH, which is searched last.
 */
const VARIABLES = [
	"NODE_OPTIONS",
	"NODE_DEBUG",
	"NODE_DEBUG_NATIVE",
	"NODE_TLS_REJECT_UNAUTHORIZED",
	"SSLKEYLOGFILE",
	"LD_PRELOAD",
	"LD_AUDIT",
	"LD_LIBRARY_PATH",
	"GCONV_PATH",
	"OPENSSL_CONF",
	"OPENSSL_ENGINES",
	"OPENSSL_MODULES",
	"NAPI_RS_NATIVE_LIBRARY_PATH",
];

/** Flags of Node that do the same, or write memory to a file; a file of variables or settings could hold any of these. */
const FLAGS = [
	/^--(inspect|tls-keylog|trace-tls|heapsnapshot|heap-prof|report)/,
	/^(-r|--(require|import|(experimental-)?loader|snapshot-blob|openssl-config))(=|$)/,
	/^--(env-file|env-file-if-exists|experimental-(default-)?config-file)(=|$)/,
];

/**
 * Refuses to serve secrets from a process that is open to others.
 * @throws FatalError naming the variable or the kind of flag
 */
export function refuseUnsafeEnvironment({ env, execArgv }: Pick<NodeJS.Process, "env" | "execArgv">): void {
	const variable = VARIABLES.find((name) => env[name]);
	if (variable !== undefined)
		throw new FatalError(`${variable} is set, which could leak secrets: unset it and start again`);
	// Node accepts --env_file, too.
	const flags = execArgv.map((flag) => flag.replaceAll("_", "-"));
	if (flags.some((flag) => FLAGS.some((pattern) => pattern.test(flag))) || debuggerUrl() !== undefined)
		throw new FatalError(
			"Node was started with a flag for a debugger, a report, a key log, or other code or settings: start again without it",
		);
}
