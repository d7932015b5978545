import { copyFileSync, mkdirSync } from "node:fs";
import { chmod, lstat, mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure } from "@svc/cli/failure";
import { replaceFile, writeDurably } from "@svc/server/durable-file";
import { hashFile } from "@svc/server/file-hash";
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
			mkdirSync(dirname(step.path), { recursive: true });
			writeDurably(step.path, step.content, step.mode);
			return true;
		case "copy":
			if ((await hasMode(step)) && (await hashFile(step.path)) === (await hashFile(step.from))) return false;
			mkdirSync(dirname(step.path), { recursive: true });
			// A running program can be replaced, but not written to.
			replaceFile(step.path, step.mode, (draft) => copyFileSync(step.from, draft));
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

async function hasMode({ path, mode }: { path: string; mode: number }): Promise<boolean> {
	const stat = await lstat(path).catch(() => undefined);
	return stat?.isFile() === true && (stat.mode & 0o7777) === mode;
}

async function runOrFail(command: readonly [string, ...string[]], run: Run): Promise<void> {
	const { code, stderr } = await run(command);
	if (code === 0) return;
	const said = stderr.trim().split("\n")[0] ?? "";
	const isStart = command[0] === "systemctl" && /^(re)?start$/.test(command[1] ?? "");
	throw new Failure("failed", `${command.join(" ")} failed${said === "" ? "" : `: ${said}`}`, {
		hint: isStart ? "`journalctl -u svc -n 30` says why the server did not start" : "fix it, then run this again",
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
