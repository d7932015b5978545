import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";
import { openBrowser } from "./browser.ts";

const ADDRESS = "https://vault.example.com/login?a=1&b=$(touch x)";
const skip = platform() === "linux" ? false : "how Linux opens an address";
const WAIT_MS = 120_000;

/** A folder with an `xdg-open` that records its arguments. */
async function fakeOpener() {
	const folder = await temporaryFolder();
	const file = join(folder.path, "opened");
	const script = `#!/bin/sh\n{ printf '%s\\n' "$#" "$1" "secrets:$SVC_TOKEN$SVC_MASTER_KEY"; } > '${file}.part' && /bin/mv '${file}.part' '${file}'\n`;
	await writeFile(join(folder.path, "xdg-open"), script, { mode: 0o755 });
	return { folder, file, env: { PATH: folder.path, SVC_TOKEN: "svc_token", SVC_MASTER_KEY: "master" } };
}

/** Waits for the record of an `xdg-open`. */
async function opened(file: string): Promise<string | undefined> {
	for (const until = performance.now() + WAIT_MS; performance.now() < until && !existsSync(file); ) await delay(20);
	return readFile(file, "utf8").catch(() => undefined);
}

test("the address is handed to the browser as it is, and no secret of svc is", { skip }, async () => {
	const { folder, file, env } = await fakeOpener();
	await using _ = folder;
	openBrowser(fakeIo({ env: { ...env, DISPLAY: ":0" }, typed: [] }).io, ADDRESS);
	assert.equal(await opened(file), `1\n${ADDRESS}\nsecrets:\n`);
});

test("without a display or a terminal no browser is opened, and a missing one is no error", { skip }, async () => {
	const { folder, file, env } = await fakeOpener();
	await using _ = folder;
	openBrowser(fakeIo({ env: { ...env, DISPLAY: ":0" } }).io, ADDRESS);
	openBrowser(fakeIo({ env, typed: [] }).io, ADDRESS);
	openBrowser(fakeIo({ env: { PATH: `${folder.path}/none`, WAYLAND_DISPLAY: "w" }, typed: [] }).io, ADDRESS);
	const later = await fakeOpener();
	await using _later = later.folder;
	openBrowser(fakeIo({ env: { ...later.env, DISPLAY: ":0" }, typed: [] }).io, ADDRESS);
	assert.notEqual(await opened(later.file), undefined);
	assert.equal(existsSync(file), false);
});
