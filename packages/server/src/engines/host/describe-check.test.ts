import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOfVersion } from "./describe-check.ts";
import { failure, scripted, settings, startHost } from "./testing.ts";

const WRONG: [changes: object, reason: RegExp][] = [
	[{ name: "another" }, /\bname\b.*\bplugin\.json\b/],
	[{ version: "0.2.0" }, /\bversion\b.*\bplugin\.json\b/],
	[{ version: null }, /^describe: version/],
	[{ capabilities: ["secret_generation", "secret_validation", "mind_reading"] }, /capabilities/],
	[{ capabilities: ["dynamic_credentials"] }, /\bcapability\b.*\bplugin\.json\b/],
	[{ capabilities: [] }, /capabilities/],
	[{ sdk_version: 2 }, /sdk_version/],
	[{ min_core_version: "99.0.0" }, /\b99\.0\.0\b.*\b0\.1\.0\b/],
];

for (const [changes, reason] of WRONG) {
	test(`an engine that describes itself with ${JSON.stringify(changes)} is never asked, and the others are`, async (t) => {
		const { host, log } = await startHost(t, [scripted("hostile/impostor.mjs"), scripted("echo.mjs")]);
		const started = settings({ environment: { SVC_TEST_CHANGES: JSON.stringify(changes) } });
		const first = await failure(host.call("impostor", started, "generate", {}));
		assert.match(first.reason, reason);
		assert.equal(first.sent, false);
		const again = await failure(host.call("impostor", { ...started, key: "b" }, "generate", {}));
		assert.equal(again.reason, first.reason);
		assert.equal(host.state()[0]?.unavailable, first.reason);
		assert.deepEqual(
			log.entries().map(({ event, engine, message }) => [event, engine, message]),
			[["engine.refused", "impostor", first.reason]],
			"it was started once",
		);
		assert.ok("data" in (await host.call("echo", settings(), "generate", {})));
	});
}

test("an engine that answers describe with an error may do better with another configuration", async (t) => {
	const { host } = await startHost(t, [scripted("hostile/impostor.mjs")]);
	const started = settings({ environment: { SVC_TEST_CHANGES: '{"error":"CANARY"}' } });
	const { reason, sent } = await failure(host.call("impostor", started, "generate", {}));
	assert.match(reason, /\bdescribe\b.*\berror$/);
	assert.equal(sent, false);
	const better = settings({ key: "b", environment: { SVC_TEST_CHANGES: "{}" } });
	assert.ok("data" in (await host.call("impostor", better, "generate", {})));
});

test("an engine whose plugin.json needs a newer server is never started", async (t) => {
	const { host } = await startHost(t, [scripted("echo.mjs", { min_core_version: "0.1.1" })]);
	const { reason, sent } = await failure(host.call("echo", settings(), "ping", {}));
	assert.match(reason, /\b0\.1\.1\b.*\b0\.1\.0$/);
	assert.equal(sent, false);
	assert.equal(host.state()[0]?.unavailable, reason);
});

test("an engine that changes its mind about who it is is ended before it gets a request", async (t) => {
	const { host } = await startHost(t, [scripted("hostile/changes-its-mind.mjs")]);
	const { reason, sent } = await failure(host.call("changes-its-mind", settings(), "generate", {}));
	assert.match(reason, /out of step/);
	assert.equal(sent, false);
});

test("versions are compared by their numbers", () => {
	for (const [needed, ours] of [
		["0.1.0", "0.1.0"],
		["0.1.0", "0.1.1"],
		["0.9.0", "0.10.0"],
		["0.9.9", "1.0.0"],
		["1.0.0-rc.1", "1.0.0+build.5"],
	] as const) {
		assert.equal(faultOfVersion(needed, ours), undefined, `${needed} ${ours}`);
	}
	for (const [needed, ours] of [
		["0.1.1", "0.1.0"],
		["0.10.0", "0.9.0"],
		["1.0.0", "0.99.99"],
	] as const) {
		assert.match(faultOfVersion(needed, ours) ?? "", /\bneeds svc\b/, `${needed} ${ours}`);
	}
	assert.equal(faultOfVersion(undefined, "0.1.0"), undefined);
});
