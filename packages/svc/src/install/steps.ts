import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, copyFile, lstat, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { Failure } from "@svc/cli/failure";
import type { Run } from "./run.ts";

/** One step on a machine. Paths are those of the machine that performs it. */
export type Step =
	| { readonly do: "make"; readonly path: string; readonly mode: number }
	/** `secret`: a description of it, for people, who do not see the content. */
	| {
			readonly do: "write";
			readonly path: string;
			readonly mode: number;
			readonly content: string;
			readonly secret?: string;
	  }
	| { readonly do: "copy"; readonly path: string; readonly mode: number; readonly from: string }
	| { readonly do: "remove"; readonly path: string }
	| { readonly do: "run"; readonly command: readonly [string, ...string[]] };

/**
 * Performs the steps in order. A file is replaced completely or not at all, and left alone when it is right already.
 * @returns the steps that changed a file
 * @throws Failure when a command fails; the system's error when a file cannot be written
 */
export async function perform(steps: readonly Step[], run: Run): Promise<Step[]> {
	const changed: Step[] = [];
	for (const step of steps) if (await performOne(step, run)) changed.push(step);
	return changed;
}

async function performOne(step: Step, run: Run): Promise<boolean> {
	switch (step.do) {
		case "make":
			await mkdir(step.path, { recursive: true });
			await chmod(step.path, step.mode);
			return false;
		case "write":
			if ((await hasMode(step)) && (await readFile(step.path, "utf8")) === step.content) return false;
			await replace(step, async (draft) => {
				const file = await open(draft, "wx", 0o600);
				await file.writeFile(step.content);
				await file.close();
			});
			return true;
		case "copy":
			if ((await hasMode(step)) && (await digest(step.path)) === (await digest(step.from))) return false;
			await replace(step, (draft) => copyFile(step.from, draft));
			return true;
		case "remove":
			if ((await lstat(step.path).catch(() => undefined)) === undefined) return false;
			await rm(step.path);
			return true;
		case "run":
			await runOrFail(step.command, run);
			return false;
	}
}

/** A running program can be replaced, but not written to. */
async function replace({ path, mode }: { path: string; mode: number }, write: (draft: string) => Promise<void>) {
	const draft = `${path}.new`;
	await mkdir(dirname(path), { recursive: true });
	await rm(draft, { force: true });
	await write(draft);
	await chmod(draft, mode);
	await sync(draft);
	await rename(draft, path);
	await sync(dirname(path));
}

async function sync(path: string): Promise<void> {
	const handle = await open(path);
	await handle.sync();
	await handle.close();
}

async function hasMode({ path, mode }: { path: string; mode: number }): Promise<boolean> {
	const stat = await lstat(path).catch(() => undefined);
	return stat?.isFile() === true && (stat.mode & 0o7777) === mode;
}

async function digest(path: string): Promise<string> {
	const hash = createHash("sha256");
	await pipeline(createReadStream(path), hash);
	return hash.digest("hex");
}

async function runOrFail(command: readonly [string, ...string[]], run: Run): Promise<void> {
	const { code, stderr } = await run(command);
	if (code === 0) return;
	const said = stderr.trim().split("\n")[0] ?? "";
	const isStart = command[0] === "systemctl" && /^(re)?start$/.test(command[1] ?? "");
	throw new Failure("failed", `${command.join(" ")} failed${said === "" ? "" : `: ${said}`}`, {
		hint: isStart ? "`journalctl -u svc -n 30` says why the server did not start" : "mend it, then run this again",
	});
}

/** A step in words, as `--dry-run` shows it; files with their content. */
export function describeStep(step: Step): string {
	switch (step.do) {
		case "make":
			return `make directory ${step.path} (${octal(step.mode)})`;
		case "write":
			return `write ${step.path} (${octal(step.mode)})\n${indent(step.secret ?? step.content)}`;
		case "copy":
			return `copy ${step.from} to ${step.path} (${octal(step.mode)})`;
		case "remove":
			return `remove ${step.path}`;
		case "run":
			return `run ${step.command.join(" ")}`;
	}
}

function octal(mode: number): string {
	return mode.toString(8).padStart(4, "0");
}

function indent(text: string): string {
	return text.trimEnd().replaceAll(/^(?=.)/gm, "    ");
}
