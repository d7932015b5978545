import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestSystem } from "../testing/system.ts";
import { createHistory, kindOf } from "./history.ts";

test("the history counts by minute and quarter, forgets what is older, and stays of one size", () => {
	const system = createTestSystem();
	const history = createHistory(system);
	for (let minute = 0; minute < 3 * 24 * 60; minute++) {
		history.note("reads", 0.002);
		if (minute % 2 === 0) history.note("denials", 0.002);
		system.advance(60_000);
	}
	const [hour, day] = [history.read("hour"), history.read("day")];
	assert.deepEqual([hour.length, day.length], [60, 96]);
	const sum = (spans: typeof hour, of: "reads" | "denials") => spans.reduce((all, span) => all + span[of], 0);
	assert.deepEqual([sum(hour, "reads"), sum(hour, "denials")], [59, 29]);
	assert.equal(sum(day, "reads"), 95 * 15);
	assert.deepEqual(
		[hour.at(-1)?.reads, hour.at(-1)?.p99_ms, hour.at(-1)?.since],
		[0, undefined, system.now().getTime()],
	);
	system.advance(2 * 60 * 60_000);
	assert.equal(sum(history.read("hour"), "reads"), 0, "nothing of the hour before");
});

test("p99 is the slowest but for one in a hundred", () => {
	const history = createHistory(createTestSystem());
	const p99 = () => history.read("hour").at(-1)?.p99_ms ?? 0;
	for (let count = 0; count < 99; count++) history.note("others", 0.001);
	history.note("writes", 2);
	assert.ok(p99() >= 1 && p99() < 1.5, `${p99()}`);
	history.note("writes", 2);
	assert.ok(p99() >= 2000 && p99() < 3000, `${p99()}`);
	for (let count = 0; count < 5; count++) history.note("writes", 1e9);
	assert.ok(Number.isFinite(p99()));
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
