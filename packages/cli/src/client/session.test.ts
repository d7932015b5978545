import assert from "node:assert/strict";
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";
import { readSession, saveServer, sessionFile } from "./session.ts";

test("the session is kept under XDG_CONFIG_HOME, else under HOME", () => {
	const fileOf = (env: Record<string, string>) => sessionFile(fakeIo({ env }).io);
	assert.equal(fileOf({ XDG_CONFIG_HOME: "/x", HOME: "/h" }), "/x/svc/session.json");
	assert.equal(fileOf({ XDG_CONFIG_HOME: "relative", HOME: "/h" }), "/h/.config/svc/session.json");
	assert.equal(fileOf({ HOME: "/h" }), "/h/.config/svc/session.json");
	assert.throws(() => fileOf({}), /\bHOME\b.*\bXDG_CONFIG_HOME\b/);
});

test("only its owner can reach the session file, and no temporary file is left", async () => {
	await using folder = await temporaryFolder();
	const { io } = fakeIo({ env: { HOME: folder.path } });
	const directory = join(folder.path, ".config", "svc");
	await mkdir(directory, { recursive: true, mode: 0o755 });
	await saveServer(io, "https://a.example", { token: "one" });
	assert.equal((await stat(directory)).mode & 0o777, 0o700);
	assert.equal((await stat(join(directory, "session.json"))).mode & 0o777, 0o600);
	assert.deepEqual(await readdir(directory), ["session.json"]);
});

test("each server keeps its own entry, and the latest login is the current one", async () => {
	await using folder = await temporaryFolder();
	const { io } = fakeIo({ env: { HOME: folder.path } });
	assert.deepEqual(await readSession(io), { servers: {} });
	await saveServer(io, "https://a.example", { token: "one" });
	await saveServer(io, "https://b.example", { token: "two" });
	assert.deepEqual(await readSession(io), {
		current: "https://b.example",
		servers: { "https://a.example": { token: "one" }, "https://b.example": { token: "two" } },
	});
});

for (const mode of [0o640, 0o604, 0o620, 0o666]) {
	test(`a session file of mode ${mode.toString(8)} is refused with what to do`, async () => {
		await using folder = await temporaryFolder();
		const { io } = fakeIo({ env: { HOME: folder.path } });
		await saveServer(io, "https://a.example", { token: "one" });
		await chmod(sessionFile(io), mode);
		await assert.rejects(readSession(io), { message: /session\.json/, hint: /^chmod 600 / });
	});
}

test("a damaged session file is refused without being quoted", async () => {
	await using folder = await temporaryFolder();
	const { io } = fakeIo({ env: { HOME: folder.path } });
	await saveServer(io, "https://a.example", {});
	for (const content of ['{"token":"hunter2"', "null", "[]", '{"format":2,"servers":{}}', '{"format":1}']) {
		await writeFile(sessionFile(io), content);
		await assert.rejects(
			readSession(io),
			(error: Error) => /\bnot a session file\b/.test(error.message) && !error.message.includes("hunter2"),
		);
	}
});
