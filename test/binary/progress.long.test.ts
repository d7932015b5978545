import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileOf } from "../docs/markdown.ts";
import { skipWithoutTerminal } from "../run/run-world.ts";
import { skipWithoutStrip } from "./built.ts";

const TIMEOUT_MS = 300_000;

/** Sequence that clears the line. */
const ERASE = "\r\u001b[K";

test("npm run binary shows on a terminal which step it is at", {
	skip: skipWithoutStrip || skipWithoutTerminal,
}, async (t) => {
	const folder = await mkdtemp(join(tmpdir(), "svc-binary-"));
	t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
	const line = [process.execPath, fileOf("scripts/binary.ts"), folder].map((word) => `'${word}'`).join(" ");
	const args = ["--quiet", "--return", "--flush", "--command", line, "/dev/null"];
	const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder, TERM: "xterm" };
	const child = spawn("script", args, { env, detached: true, stdio: ["pipe", "pipe", "inherit"] });
	const kill = () => void (child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, "SIGKILL"));
	const late = setTimeout(kill, TIMEOUT_MS);
	let shown = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		shown += text;
		// It takes a minute, and shows nothing new.
		if (shown.includes("packing")) kill();
	});
	await once(child, "close");
	clearTimeout(late);
	const lines = shown.split(ERASE).map((piece) => /^making the binary: ([a-z ]+)/.exec(piece)?.[1]);
	const steps = new Set(lines.filter((step) => step !== undefined));
	assert.deepEqual([...steps], ["bundling", "compiling", "putting it together", "packing"]);
});
