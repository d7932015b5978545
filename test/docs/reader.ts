import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "../peers/free-port.ts";
import { REPOSITORY } from "./markdown.ts";

const TIMEOUT_MS = 180_000;

/** `false` where a terminal for the commands of a page can be opened; else the reason to skip the test. */
export const skipWithoutShell: string | false = ["script", "bash", "curl", "jq", "npm"].every(
	(program) => spawnSync(program, ["--version"]).status === 0,
)
	? false
	: "script, bash, curl, jq and npm are not all installed";

/** A reader who types a page's commands, one after the other, in their own shell in a checkout. */
export interface Reader extends AsyncDisposable {
	/** The folder where the reader begins: a checkout with only the repository's files. */
	readonly home: string;
	/**
	 * Types one command on a terminal and answers its questions.
	 * @returns the whole output of the terminal and the exit code
	 */
	type(command: string, answers?: readonly string[]): Promise<{ shown: string; code: number | null }>;
	/** Starts a server with this command, leaves it running, and waits until it shows the next step. */
	serve(command: string): Promise<string>;
	/** Stops that server. */
	stopServing(): Promise<void>;
}

/**
 * Begins in a new folder. A free port replaces the pages' port 8443, so that pages can be read in parallel.
 * @param addresses replacements for further addresses on the pages
 * @param more variables of the reader's shell, and so of the server
 */
export async function startReader(
	addresses: Readonly<Record<string, string>> = {},
	more: Readonly<Record<string, string>> = {},
): Promise<Reader> {
	const home = mkdtempSync(join(tmpdir(), "svc-docs-"));
	for (const name of readdirSync(REPOSITORY)) {
		if (!/^(\.git|data|dist|svc\.toml|\.svc\.toml)$/.test(name)) symlinkSync(join(REPOSITORY, name), join(home, name));
	}
	const here = Object.entries({ ...addresses, ":8443": `:${await freePort()}` });
	const put = (text: string) => here.reduce((all, [page, address]) => all.replaceAll(page, address), text);
	const back = (text: string) => here.reduce((all, [page, address]) => all.replaceAll(address, page), text);
	const env = { ...environment(home, put(":8443")), ...more };
	await writeFile(join(home, ".state"), `cd ${home}\n`);
	const running: ChildProcess[] = [];
	let server: ChildProcess | undefined;
	return {
		home,
		async type(command, answers = []) {
			await writeFile(join(home, ".command"), `${put(command)}\n`);
			const child = startOnTerminal(env, home);
			running.push(child);
			const shown = await converse(child, answers);
			return { shown: back(shown), code: child.exitCode };
		},
		async serve(command) {
			server = spawn("bash", ["-c", `exec ${put(command)}`], { cwd: home, env, detached: true });
			running.push(server);
			return back(await until(server, "next, in another terminal"));
		},
		stopServing: async () => server && end(server),
		async [Symbol.asyncDispose]() {
			for (const child of running) await end(child);
			await rm(home, { recursive: true, force: true });
		},
	};
}

/** Built from nothing, so that the variables of your shell cannot change the outcome. */
function environment(home: string, at: string): Record<string, string> {
	const bin = join(REPOSITORY, "node_modules/.bin");
	return {
		PATH: `${bin}:${dirname(process.execPath)}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
		HOME: home,
		LANG: "C.UTF-8",
		NO_COLOR: "1",
		TERM: "dumb",
		SVC_LISTEN: `127.0.0.1${at}`,
		SVC_ADDRESS: `https://localhost${at}`,
		npm_config_ignore_scripts: "true",
		npm_config_progress: "false",
		npm_config_update_notifier: "false",
	};
}

/** A file keeps the shell's state from one command to the next: each command has its own terminal and its own end. */
function startOnTerminal(env: Record<string, string>, home: string): ChildProcess {
	const line = `stty cols 200 -onlcr; . ${home}/.state 2>/dev/null; . ${home}/.command; code=$?; { declare -p; declare -f; printf 'cd %q\\n' "$PWD"; } > ${home}/.state; exit $code`;
	return spawn(
		"script",
		["--quiet", "--return", "--flush", "--command", `bash -c '${line.replaceAll("'", "'\\''")}'`, "/dev/null"],
		{
			cwd: home,
			env: { ...env, SHELL: "/bin/sh" },
			detached: true,
			stdio: ["pipe", "pipe", "inherit"],
		},
	);
}

/** Reads the output and types the next answer at each question. */
async function converse(child: ChildProcess, answers: readonly string[]): Promise<string> {
	const left = [...answers];
	let shown = "";
	const late = setTimeout(() => kill(child, "SIGKILL"), TIMEOUT_MS);
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		shown += text;
		const next = /[:\]?] $/.test(shown) ? left.shift() : undefined;
		if (next !== undefined) child.stdin?.write(`${next}\n`);
	});
	await once(child, "close");
	clearTimeout(late);
	if (left.length > 0) throw new Error(`it did not ask for ${left.length} of the answers\n${shown}`);
	return shown;
}

function until(child: ChildProcess, shows: string): Promise<string> {
	return new Promise((resolve, reject) => {
		let shown = "";
		const late = setTimeout(() => kill(child, "SIGKILL"), TIMEOUT_MS);
		const append = (text: string) => {
			shown += text;
			if (!shown.includes(shows)) return;
			clearTimeout(late);
			resolve(shown);
		};
		child.stdout?.setEncoding("utf8").on("data", append);
		child.stderr?.setEncoding("utf8").on("data", append);
		child.once("close", (code) => reject(new Error(`it ended with ${code} before it showed ${shows}\n${shown}`)));
	});
}

/** Kills the whole session of a command, with everything it started. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
	try {
		if (pid !== undefined) process.kill(-pid, signal);
	} catch {
		// Already ended.
	}
}

async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const closed = once(child, "close");
	kill(child, "SIGTERM");
	await closed;
}
