import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestSystem } from "../testing/system.ts";
import { createHistory, kindOf } from "./history.ts";
import { prometheus } from "./prometheus.ts";
import { addRequestMetrics } from "./request-metrics.ts";

const READ = "/api/v1/realms/{slug}/secrets";

/** A history over real series, which the test fills. */
function setUp() {
	const system = createTestSystem();
	const requests = addRequestMetrics([new prometheus.Registry()]);
	const leases = { live_leases: 0 };
	const history = createHistory(system, async () => ({ ...requests.totals(), ...leases }));
	const answer = (method: string, status: number, seconds: number) => requests.note(method, READ, status, seconds);
	const pass = async (minutes: number) => {
		for (let minute = 0; minute < minutes; minute++) {
			system.advance(60_000);
			await history.sample();
		}
	};
	return { system, history, leases, answer, pass };
}

test("the history counts by minute and quarter, and forgets what is older", async () => {
	const { system, history, answer, pass } = setUp();
	for (let minute = 0; minute < 26 * 60; minute++) {
		answer("GET", 200, 0.002);
		if (minute % 2 === 0) answer("POST", 403, 0.002);
		await pass(1);
	}
	const [hour, day] = [await history.read("hour"), await history.read("day")];
	assert.deepEqual([hour.length, day.length], [60, 96]);
	const sum = (spans: typeof hour, of: "reads" | "denials") => spans.reduce((all, span) => all + span[of], 0);
	assert.deepEqual([sum(hour, "reads"), sum(hour, "denials")], [59, 29]);
	assert.equal(sum(day, "reads"), 95 * 15);
	assert.deepEqual([hour[0]?.reads, hour[0]?.p99_ms], [1, 2.5]);
	const newest = hour.at(-1);
	assert.deepEqual([newest?.reads, newest?.p99_ms, newest?.since], [0, undefined, system.now().getTime()]);
	await pass(2 * 60);
	assert.equal(sum(await history.read("hour"), "reads"), 0, "nothing of the hour before");
});

test("each span has the leases that were live at its end, the present one those of now", async () => {
	const { system, history, leases, pass } = setUp();
	for (const live of [2, 5, 3]) {
		leases.live_leases = live;
		await pass(1);
	}
	leases.live_leases = 4;
	system.advance(30_000);
	const live = (await history.read("hour")).slice(-5).map(({ live_leases }) => live_leases);
	assert.deepEqual(live, [0, 2, 5, 3, 4]);
});

test("the present minute counts before it is over, and a minute without a sample counts with the next", async () => {
	const { system, history, answer, pass } = setUp();
	const reads = async () => (await history.read("hour")).slice(-4).map((span) => span.reads);
	answer("GET", 200, 0.001);
	assert.deepEqual(await reads(), [0, 0, 0, 1]);
	await pass(1);
	answer("GET", 200, 0.001);
	system.advance(60_000);
	answer("GET", 200, 0.001);
	await pass(1);
	assert.deepEqual(await reads(), [1, 0, 2, 0]);
	system.advance(3 * 60 * 60_000);
	assert.deepEqual(await reads(), [0, 0, 0, 0]);
});

test("p99 is the bound of the slowest but for one in a hundred", async () => {
	const { history, answer } = setUp();
	const p99 = async () => (await history.read("hour")).at(-1)?.p99_ms;
	for (let count = 0; count < 99; count++) answer("GET", 404, 0.001);
	answer("POST", 201, 2);
	assert.equal(await p99(), 1);
	answer("POST", 201, 2);
	assert.equal(await p99(), 5000);
	for (let count = 0; count < 5; count++) answer("POST", 201, 1e9);
	assert.equal(await p99(), 5000);
});

test("a request is a read, a write, a denial or a failed sign-in", () => {
	const realm = "/api/v1/realms/{slug}/secrets";
	assert.deepEqual(
		[
			kindOf("GET", realm, 200),
			kindOf("POST", realm, 201),
			kindOf("POST", realm, 403),
			kindOf("POST", realm, 409),
			kindOf("POST", "/api/v1/auth/login", 401),
			kindOf("POST", "/api/v1/auth/ldap/{provider}/login", 401),
			kindOf("GET", "/api/v1/auth/oidc/{provider}/callback", 401),
			kindOf("POST", "/console", 401),
			kindOf("GET", "/console", 401),
			kindOf("GET", "/api/v1/health", 200),
			kindOf("GET", "/metrics", 200),
		],
		["reads", "writes", "denials", "others", ...Array(4).fill("failed_sign_ins"), "others", "others", "others"],
	);
});
