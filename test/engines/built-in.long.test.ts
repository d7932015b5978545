/* `svc engine test` on the built-in engines. sdk/engine-test.long.test.ts covers keyvalue. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TIMEOUT_MS = 300_000;

let orchestrator: FakeOrchestrator;

before(async () => {
	orchestrator = await startFakeOrchestrator();
});
after(() => orchestrator.stop());

/** Tests an engine from its folder; returns the lines of the report. */
async function engineTest(type: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
	const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
	const args = ["packages/svc/src/main.ts", "engine", "test", `plugins/${type}`, ...variables];
	const options = { cwd: ROOT, env: { PATH: "/usr/bin:/bin" }, timeout: TIMEOUT_MS };
	const { stdout } = await promisify(execFile)(process.execPath, args, options).catch(
		(error: { stdout?: string; stderr?: string }) => assert.fail(`${error.stdout}${error.stderr}`),
	);
	return stdout.trimEnd().split("\n");
}

for (const type of ["documentdb", "pki", "totp"]) {
	test(`${type} keeps the contract of engines`, async () => {
		const lines = await engineTest(type);
		assert.equal(lines.pop(), `${lines.length} ok, 0 not ok`);
		assert.ok(lines.length > 10, lines.join("\n"));
	});
}

test("containerorch keeps the contract of engines, and leaves nothing at its API server", async () => {
	const { url, token, ca } = orchestrator;
	const lines = await engineTest("containerorch", {
		SVC_ORCH_API_SERVER: url,
		SVC_ORCH_TOKEN: token,
		SVC_ORCH_CA_CERT: ca,
	});
	assert.equal(lines.pop(), `${lines.length} ok, 0 not ok`);
	assert.ok(orchestrator.calls.length > 0, "it was asked");
	assert.deepEqual([...orchestrator.objects.keys()], []);
});
