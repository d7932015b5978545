import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { type FakeAnswer, page, refusal } from "../../testing/fake-server.ts";
import { jwtOf, startMachineService } from "../../testing/machine.ts";
import { fakeIo, run, temporaryFolder } from "../../testing/terminal.ts";
import { connect } from "../connection.ts";

const HOUR_MS = 3_600_000;

test("a token is renewed at three quarters of its life, a tenth more or less, by one exchange for all", async (t) => {
	t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
	await using server = await startMachineService();
	const { io } = fakeIo({ env: { ...server.env, SVC_ID_TOKEN: jwtOf({}) } });
	const token = async () => (await connect({ io, options: {} })).token;
	assert.equal(await token(), "svc_machine1_deploy");
	t.mock.timers.setTime(Date.now() + 0.674 * HOUR_MS);
	assert.equal(await token(), "svc_machine1_deploy");
	t.mock.timers.setTime(Date.now() + 0.152 * HOUR_MS);
	const all = await Promise.all(Array.from({ length: 20 }, token));
	assert.deepEqual(new Set(all), new Set(["svc_machine2_deploy"]));
	assert.equal(server.sent().length, 2);
});

test("a token that cannot be renewed is used until its end, and that is said once", async (t) => {
	t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
	const troubles: FakeAnswer[] = [];
	await using server = await startMachineService({ refuse: () => troubles[0] });
	const { io, outcome } = fakeIo({ env: { ...server.env, SVC_ID_TOKEN: jwtOf({}) } });
	const token = async () => (await connect({ io, options: {} })).token;
	await token();
	troubles.push(refusal(503, "unavailable", "the server is stopping"));
	for (const part of [0.9, 0.05]) {
		t.mock.timers.setTime(Date.now() + part * HOUR_MS);
		assert.equal(await token(), "svc_machine1_deploy");
	}
	assert.match(outcome(0).stderr, /^svc: [^\n]+: the server is stopping\n$/);
	t.mock.timers.setTime(Date.now() + 0.06 * HOUR_MS);
	await assert.rejects(token, /the server is stopping/);
	troubles.pop();
	assert.equal(await token(), "svc_machine5_deploy");
});

test("svc run --watch continues past the end of its token, and its program keeps GitHub's variables alone", async () => {
	const service = { life_s: 1, exchanges: 0 };
	const value = () => (service.exchanges > 2 ? "2" : "1");
	await using server = await startMachineService({
		life_s: service.life_s,
		refuse: (exchanges) => {
			service.exchanges = exchanges;
			return undefined;
		},
		serve: () => page("secrets", [{ key: "VALUE", value: value(), version: Number(value()) }]),
	});
	await using home = await temporaryFolder();
	const script = `env > ${join(home.path, "env")}; test "$VALUE" = 2 && exit 5; exec sleep 600`;
	const env = { HOME: home.path, PATH: "/usr/bin:/bin", ...server.env, ...server.github, SVC_ID_TOKEN: jwtOf({}) };
	const argv = ["run", "--realm", "shop", "--watch", "--watch-interval", "1s", "--", "sh", "-c", script];
	const { code, stderr } = await run(argv, { env });
	assert.equal(code, 5, stderr);
	assert.ok(new Set(server.used()).size > 2);
	const seen = await readFile(join(home.path, "env"), "utf8");
	const names = seen.split("\n").map((line) => line.split("=")[0]);
	assert.deepEqual(names.filter((name) => /^(?:SVC_|ACTIONS_)/.test(name ?? "")).sort(), [
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN",
		"ACTIONS_ID_TOKEN_REQUEST_URL",
		"SVC_ADDRESS",
	]);
});
