import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import test from "node:test";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";

const MADE = { namespace: "apps", service_account: "svc-a", token: "t", connection: { server: "https://127.0.0.1:1" } };

test("the file and its folder are their owner's alone, and gone afterwards", async () => {
	await using runtime = await temporaryFolder();
	const { io } = fakeIo({ env: { XDG_RUNTIME_DIR: runtime.path } });
	{
		await using file = await writeKubeconfig(io, MADE);
		assert.equal((await stat(file.path)).mode & 0o777, 0o600);
		assert.equal((await stat(dirname(file.path))).mode & 0o777, 0o700);
	}
	assert.deepEqual(await readdir(runtime.path), []);
});

test("an answer that is none leaves no folder behind", async () => {
	await using runtime = await temporaryFolder();
	const { io } = fakeIo({ env: { XDG_RUNTIME_DIR: runtime.path } });
	await assert.rejects(writeKubeconfig(io, { ...MADE, connection: {} }), { kind: "unreachable" });
	assert.deepEqual(await readdir(runtime.path), []);
});
