import assert from "node:assert/strict";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { startFake } from "../testing/fake-server.ts";
import { fakeIo, run, temporaryFolder } from "../testing/terminal.ts";
import { checkClock, checkConnection, checkSessionFile, checkVersion } from "./doctor-checks.ts";

const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
const at = (seconds: number) => new Date(NOW_MS - seconds * 1000).toUTCString();

test("clocks that are apart are a warning, and a minute apart a failure", () => {
	const cases: [seconds: number, status: string, message: RegExp][] = [
		[0, "ok", /agree/],
		[-5, "ok", /agree/],
		[6, "warning", /\b6 seconds ahead\b/],
		[-60, "warning", /\b60 seconds behind\b/],
		[61, "failed", /\b61 seconds ahead\b/],
	];
	for (const [seconds, status, message] of cases) {
		const check = checkClock(at(seconds), NOW_MS);
		assert.equal(check.status, status);
		assert.match(check.message, message);
	}
	assert.equal(checkClock(undefined, NOW_MS).status, "warning");
});

test("another version than the server's is a warning", () => {
	assert.equal(checkVersion("0.1.0").status, "ok");
	assert.match(checkVersion("0.2.0").message, /\b0\.2\.0\b.*\b0\.1\.0$/);
});

test("a connection in the clear is fine on this machine only", async () => {
	const look = async (address: string) => (await checkConnection({ address, saved: {} })).map(({ status }) => status);
	assert.deepEqual(await look("http://127.0.0.1:8443"), ["ok"]);
	assert.deepEqual(await look("http://svc.example.com"), ["failed"]);
});

test("a folder of the session file that others may write is a failure", async () => {
	await using folder = await temporaryFolder();
	const { io } = fakeIo({ env: { XDG_CONFIG_HOME: folder.path } });
	const status = async () => (await checkSessionFile(io)).map((check) => check.status);
	assert.deepEqual(await status(), ["ok"]);
	await mkdir(join(folder.path, "svc"), { mode: 0o700 });
	assert.deepEqual(await status(), ["ok"]);
	await chmod(join(folder.path, "svc"), 0o777);
	assert.deepEqual(await status(), ["failed"]);
});

test("failed checks end the command with 1, warnings with 0, and nothing of the server's text is obeyed", async () => {
	const check = (status: string) => ({ name: "disk", status, message: "full\u001b[2J", hint: "rm\n" });
	for (const [status, code] of [
		["failed", 1],
		["warning", 0],
	] as const) {
		const answer = ({ url }: { url: string }) =>
			url.endsWith("/health") ? { body: { version: "0.1.0" } } : { body: { checks: [check(status)] } };
		await using server = await startFake(answer, { plain: true });
		const outcome = await run(["doctor"], { env: { SVC_TOKEN: "t", SVC_ADDRESS: server.address } });
		assert.equal(outcome.code, code);
		assert.ok(outcome.stdout.startsWith(`${status}  disk`), outcome.stdout);
		assert.match(outcome.stdout, /full\\u001b\[2J\n {9}hint: rm\\n\n/);
	}
});

test("a server whose database is not used is a failure with the reason, and is asked nothing more", async () => {
	const body = {
		version: "0.1.0",
		store: { status: "away", since: "2026-11-21T12:00:00Z", message: "it lacks answers" },
	};
	const answer = ({ url }: { url: string }) =>
		url.endsWith("/health") ? { status: 503, body } : assert.fail("it was asked");
	await using server = await startFake(answer, { plain: true });
	const outcome = await run(["doctor"], { env: { SVC_TOKEN: "t", SVC_ADDRESS: server.address } });
	assert.equal(outcome.code, 1);
	assert.match(outcome.stdout, /^failed {2}database .*\bit lacks answers, since 2026-11-21T12:00:00Z/);
});
