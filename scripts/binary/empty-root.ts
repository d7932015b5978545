import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { librariesOf } from "./libraries.ts";

const TIMEOUT_MS = 60_000;
const UNSHARE = ["--user", "--map-root-user"];

/** Reason why a program cannot start in a root of its own here, or false. */
export const skipWithoutRoot: string | false =
	spawnSync("unshare", [...UNSHARE, "--root=/", "true"]).status === 0 ? false : "unshare may not make namespaces here";

/** Result of a command. */
interface Outcome {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** A root with nothing but the binary, as `/svc`, and the system libraries that it is linked with. */
export interface EmptyRoot {
	/** Its path outside. */
	readonly folder: string;
	/** Starts the binary in it, with these variables and no others. */
	start(args: readonly string[], env?: Readonly<Record<string, string>>): ReturnType<typeof spawn>;
	/** Runs a command to its end. @param stdin its input; it is no terminal */
	run(args: readonly string[], env?: Readonly<Record<string, string>>, stdin?: string): Promise<Outcome>;
	remove(): void;
}

/** Makes an empty root. @param binary to copy */
export function makeEmptyRoot(binary: string): EmptyRoot {
	const folder = mkdtempSync(join(tmpdir(), "svc-root-"));
	copyFileSync(binary, join(folder, "svc"));
	for (const library of librariesOf(binary)) {
		mkdirSync(join(folder, dirname(library)), { recursive: true });
		copyFileSync(library, join(folder, library));
	}
	const start: EmptyRoot["start"] = (args, env = {}) => {
		const options = { env: { ...env }, timeout: TIMEOUT_MS, killSignal: "SIGKILL" as const };
		return spawn("/usr/bin/unshare", [...UNSHARE, `--root=${folder}`, "--wd=/", "/svc", ...args], options);
	};
	return {
		folder,
		start,
		async run(args, env, stdin = "") {
			const child = start(args, env);
			child.stdin?.on("error", () => undefined).end(stdin);
			const { stdout, stderr } = child;
			if (stdout === null || stderr === null) throw new Error("no pipes");
			const [out, err] = await Promise.all([text(stdout), text(stderr), once(child, "close")]);
			return { code: child.exitCode, stdout: out, stderr: err };
		},
		remove: () => rmSync(folder, { recursive: true, force: true }),
	};
}
