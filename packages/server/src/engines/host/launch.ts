import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import type { Launch } from "./model.ts";

/** Ends a process with the thread that started it, and keeps it from gaining rights. Without util-linux, only the end of its input ends it. */
const SETPRIV = "/usr/bin/setpriv";
const SETPRIV_FLAGS = ["--pdeathsig", "KILL", "--no-new-privs", "--"];

/** Tested once, with the first process: a unit that forbids changes of capabilities forbids setpriv, and does the same work itself. */
let isUsable: boolean | undefined;

function hasSetpriv(): boolean {
	isUsable ??=
		spawnSync(SETPRIV, [...SETPRIV_FLAGS, SETPRIV, "--version"], { env: ENVIRONMENT, stdio: "ignore" }).status === 0;
	return isUsable;
}

/** Environment of every process. The server passes nothing of its own. */
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" } as const;

/** Changes the behaviour of Node, so only the launch itself may set it. */
const NODE_OPTIONS = "NODE_OPTIONS";

const require = createRequire(import.meta.url);

/** Loads execa with the first process: it takes 10 MB and 80 ms, which a server without engines saves. */
const load = () => require("execa") as typeof import("execa");

/** A process with pipes for its three streams. */
export type Child = ReturnType<typeof spawnEngine>;

/**
 * Starts a process: no shell, a fresh environment, three pipes and no other descriptor, and its own process group, so that its children end
 * with it and a terminal's Ctrl-C reaches the server alone. The result never rejects.
 * @param cwd an empty folder
 * Design: §8
 */
export function spawnEngine(launch: Launch, environment: Readonly<Record<string, string>>, cwd: string) {
	const { file, arguments: args, node_options } = hasSetpriv() ? throughSetpriv(launch) : launch;
	const { [NODE_OPTIONS]: _, ...variables } = environment;
	const options = node_options === undefined ? {} : { [NODE_OPTIONS]: node_options };
	return load().execa(file, args, {
		cwd,
		env: { ...variables, ...ENVIRONMENT, ...options },
		extendEnv: false,
		stdin: "pipe",
		stdout: "pipe",
		stderr: "pipe",
		encoding: "buffer",
		buffer: false,
		reject: false,
		killDescendants: true,
		// It would install handlers for every signal of the server, only to send a SIGTERM.
		cleanup: false,
		forceKillAfterDelay: false,
		verbose: "none",
	});
}

function throughSetpriv({ file, arguments: args, ...others }: Launch): Launch {
	return { ...others, file: SETPRIV, arguments: [...SETPRIV_FLAGS, file, ...args] };
}
