import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Server } from "../harness.ts";
import type { Person } from "./fixtures.ts";
import { PROGRAM } from "./program.ts";

const TIMEOUT_MS = 300_000;

/** The result of a command. */
export interface Outcome {
	/** The exit code of the process. */
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** Receives all of stderr so far, whenever more is written. */
export type Hearer = (stderr: string, child: ChildProcess) => void;

/** Runs `svc` in its own process, as somebody who is logged in to a server, or as nobody yet. */
export interface Cli {
	/** @param stdin input of the command; not a terminal */
	run(args: readonly string[], stdin?: string, heard?: Hearer): Promise<Outcome>;
	/** A folder for its files, removed by `close`. */
	readonly home: string;
	close(): Promise<void>;
}

/** Prepares a Cli; nothing from your own environment reaches the commands. Without `who` it has the session of its own logins. @param more variables */
export async function createCli(
	server: Pick<Server, "url" | "ca">,
	who?: Pick<Person, "token">,
	more: Readonly<Record<string, string>> = {},
): Promise<Cli> {
	const home = await mkdtemp(join(tmpdir(), "svc-cli-"));
	const cacert = join(home, "server.pem");
	await writeFile(cacert, server.ca);
	const run: Cli["run"] = async (args, stdin = "", heard) => {
		const env = {
			PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
			HOME: home,
			SVC_ADDRESS: server.url,
			SVC_CACERT: cacert,
			...(who === undefined ? {} : { SVC_TOKEN: who.token }),
			...more,
		};
		const words = [...PROGRAM.arguments, ...args];
		const child = spawn(PROGRAM.file, words, { env, timeout: TIMEOUT_MS, killSignal: "SIGKILL" });
		child.stdin.on("error", () => undefined).end(stdin);
		let stderr = "";
		child.stderr.setEncoding("utf8").on("data", (more: string) => {
			stderr += more;
			heard?.(stderr, child);
		});
		const [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
		return { code: child.exitCode, stdout, stderr };
	};
	return { run, home, close: () => rm(home, { recursive: true }) };
}
