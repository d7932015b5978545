import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { EventEmitter } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { runCli } from "../main.ts";
import { startService } from "../testing/fake-server.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";

const NAME = "svc-20300101T000000000Z.db";
const CONTENT = "all of it";
const DOWNLOAD = ["backup", "download", NAME];

/** A service whose only backup has this content. */
function start(content = CONTENT, headers: Record<string, string> = {}) {
	const backup = { name: NAME, sha256: hash("sha256", CONTENT), bytes: CONTENT.length, created_at: "", events: 1 };
	return startService(({ url }) =>
		url.endsWith("/backups") ? { body: { backups: [backup] } } : { body: content, headers },
	);
}

test("a download is its owner's alone, whatever was left next to it", async () => {
	await using server = await start();
	await using folder = await temporaryFolder();
	const file = join(folder.path, NAME);
	await writeFile(`${file}.part`, "", { mode: 0o666 });
	const { code, stderr } = await run(DOWNLOAD, { env: server.env, cwd: folder.path });
	assert.equal(code, 0, stderr);
	assert.equal((await stat(file)).mode & 0o777, 0o600);
	assert.equal(await readFile(file, "utf8"), CONTENT);
});

for (const [what, content, headers, exit, message] of [
	["something else", "none of it", {}, 1, /^svc: .*backup.*SHA-256.*\nhint: /],
	["half of it", "all", { "content-length": "9", connection: "close" }, 5, /^svc: .*\bclosed\b.*\nhint: /],
] as const) {
	test(`where ${what} arrives, nothing is kept and it is said why`, async () => {
		await using server = await start(content, headers);
		await using folder = await temporaryFolder();
		const { code, stderr } = await run(DOWNLOAD, { env: server.env, cwd: folder.path });
		assert.equal(code, exit, stderr);
		assert.match(stderr, message);
		assert.deepEqual(await readdir(folder.path), []);
	});
}

test("Ctrl-C ends a download and leaves nothing half", { timeout: 60_000 }, async () => {
	await using server = await start("all", { "content-length": "9" });
	await using folder = await temporaryFolder();
	const signals = new EventEmitter();
	const { io } = fakeIo({ env: server.env, cwd: folder.path });
	const pressed = setInterval(() => signals.emit("SIGINT", "SIGINT"), 20);
	const code = await runCli(DOWNLOAD, { ...io, on: signals.on.bind(signals), off: signals.off.bind(signals) });
	clearInterval(pressed);
	assert.equal(code, 130);
	assert.deepEqual(await readdir(folder.path), []);
	assert.deepEqual(signals.eventNames(), []);
});
