import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";

import { findGivenToken } from "./given-token.ts";

const given = (env: Record<string, string>) => findGivenToken(fakeIo({ env }).io);

test("the environment gives a token by SVC_TOKEN, else SVC_TOKEN_FILE, else systemd's credential svc-token", async () => {
	await using folder = await temporaryFolder();
	const file = join(folder.path, "token");
	await writeFile(file, "svc_file\r\n");
	const all = { SVC_TOKEN: " svc_text\n", SVC_TOKEN_FILE: file, CREDENTIALS_DIRECTORY: folder.path };
	assert.equal(await given({ CREDENTIALS_DIRECTORY: folder.path }), undefined);
	await writeFile(join(folder.path, "svc-token"), "svc_credential\n");
	assert.deepEqual(await given(all), { token: "svc_text", source: "SVC_TOKEN" });
	const fromFile = await given({ ...all, SVC_TOKEN: "" });
	assert.equal(fromFile?.token, "svc_file");
	assert.match(fromFile.source, /\bSVC_TOKEN_FILE$/);
	const fromSystemd = await given({ CREDENTIALS_DIRECTORY: folder.path });
	assert.equal(fromSystemd?.token, "svc_credential");
	assert.match(fromSystemd.source, /\bsvc-token$/);
	assert.equal(await given({}), undefined);
});

test("a source that gives no token is refused by name, and nothing else is tried", async () => {
	await using folder = await temporaryFolder();
	const file = join(folder.path, "token");
	await writeFile(file, "\n");
	const blank = join(folder.path, "blank");
	await writeFile(blank, "svc_a\n\n");
	await mkdir(join(folder.path, "svc-token"));
	for (const [env, message] of [
		[{ SVC_TOKEN: "two words" }, /^SVC_TOKEN .*\bcharacters\b/],
		[{ SVC_TOKEN_FILE: file }, /\bSVC_TOKEN_FILE\b.*\bempty$/],
		[{ SVC_TOKEN_FILE: blank }, /\bSVC_TOKEN_FILE\b.*\bcharacters\b/],
		[{ SVC_TOKEN_FILE: join(folder.path, "none") }, /\bSVC_TOKEN_FILE\b.*\(ENOENT\)$/],
		[{ CREDENTIALS_DIRECTORY: folder.path }, /\bsvc-token\b.*\(EISDIR\)$/],
	] as const)
		await assert.rejects(given({ CREDENTIALS_DIRECTORY: folder.path, ...env }), { kind: "usage", message });
});
