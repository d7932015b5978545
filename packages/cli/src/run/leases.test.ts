import assert from "node:assert/strict";
import { Writable } from "node:stream";
import test from "node:test";
import { runCli } from "../main.ts";
import { page, startService } from "../testing/fake-server.ts";
import { fakeIo, temporaryFolder } from "../testing/terminal.ts";

const MADE = { username: "svc_a", password: "hunter22", address: "127.0.0.1:6379" };

test("a credential is revoked when the program has ended, not when its output is read", {
	timeout: 60_000,
}, async () => {
	const revoked = Promise.withResolvers<void>();
	await using server = await startService(({ method, url }) => {
		if (method === "DELETE") revoked.resolve();
		return url.includes("/generate") ? { body: MADE, headers: { "x-lease-id": "l1" } } : page("secrets", []);
	});
	await using home = await temporaryFolder();
	let shown = "";
	const stdout = new Writable({
		write: (chunk: Buffer, _encoding, done) => {
			shown += chunk.toString();
			void revoked.promise.then(() => done());
		},
	});
	const { io } = fakeIo({ env: { ...server.env, HOME: home.path, PATH: "/usr/bin:/bin" } });
	const script = 'echo "$KEYVALUE_PASSWORD"; exit 3';
	const argv = ["run", "--realm", "shop", "--lease", "keyvalue:readonly", "--", "sh", "-c", script];
	assert.equal(await runCli(argv, { ...io, stdout }), 3);
	assert.equal(shown, "*****\n");
});
