import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestLog } from "../testing/log.ts";
import { createTestSystem } from "../testing/system.ts";
import type { Removal } from "./model.ts";
import { createTargetHealth, type Probe } from "./target-health.ts";

const GONE: Removal = { outcome: "absent" };
const AWAY: Removal = { outcome: "unreachable", message: "connection refused" };
const DENIED: Removal = { outcome: "denied", message: "no permission" };
const WELL: Probe = { outcome: "healthy", message: "" };

function setUp() {
	const system = createTestSystem();
	const { log, entries } = createTestLog();
	const health = createTargetHealth({ system, log, width: 8 }, "target");
	const said = () => entries().map(({ level, event }) => `${level} ${event}`);
	const fail = (times: number) => {
		for (let count = 0; count < times; count++) health.end(AWAY);
	};
	/** Seconds until a probe is due. */
	const probeIn = () => {
		let seconds = 0;
		for (; !health.isProbeDue(); seconds++) system.advance(1000);
		return seconds;
	};
	return { system, health, entries, said, fail, probeIn };
}

test("a target is taken for healthy and gets eight removals at once", () => {
	const { health } = setUp();
	assert.equal(health.state, "healthy");
	assert.equal(health.hasRoom(7), true);
	assert.equal(health.hasRoom(8), false);
	assert.equal(health.isProbeDue(), false);
});

test("five removals in a row without an answer make it away; an answer in between starts the count again", () => {
	const { health, fail, said } = setUp();
	fail(4);
	health.end({ outcome: "present", message: "it is still there" });
	fail(4);
	assert.equal(health.state, "healthy");
	fail(1);
	assert.equal(health.state, "away");
	assert.equal(health.message, "connection refused");
	assert.equal(health.hasRoom(0), false);
	assert.deepEqual(health.refusal(), AWAY);
	fail(10);
	assert.deepEqual(said(), ["error lease.target.away"], "that is said once");
});

test("a target that is away is probed after one, two, four, and then every five seconds", () => {
	const { health, fail, probeIn } = setUp();
	fail(5);
	const pauses = Array.from({ length: 6 }, () => {
		const seconds = probeIn();
		health.probed({ outcome: "unreachable", message: "no route" }, false);
		return seconds;
	});
	assert.deepEqual(pauses, [1, 2, 4, 5, 5, 5]);
	assert.equal(health.message, "no route");
});

test("after a probe that went well one lease is tried, and when that comes off all are", () => {
	const { health, fail, said } = setUp();
	fail(5);
	health.probed(WELL, true);
	assert.equal(health.state, "away");
	assert.equal(health.hasRoom(3), true);
	health.begin();
	assert.equal(health.hasRoom(0), false);
	health.end(GONE);
	assert.equal(health.state, "healthy");
	assert.equal(health.message, "");
	assert.equal(health.hasRoom(7), true);
	assert.deepEqual(said(), ["error lease.target.away", "info lease.target.healthy"]);
});

test("a target that answers probes and no removals stays away and gets one removal a probe", () => {
	const { health, fail, said, probeIn } = setUp();
	fail(5);
	for (let count = 0; count < 10; count++) {
		probeIn();
		health.probed(WELL, true);
		health.begin();
		health.end(AWAY);
		assert.equal(health.hasRoom(0), false);
	}
	assert.equal(probeIn(), 5);
	assert.deepEqual(said(), ["error lease.target.away"]);
});

test("with no lease to try, a probe that went well is enough", () => {
	const { health, fail } = setUp();
	fail(5);
	health.probed(WELL, false);
	assert.equal(health.state, "healthy");
});

const OVER: Removal = { outcome: "unreachable", message: "the process exited with status 3", is_engine: true };

test("removals that end their engine have the target probed, and one that answers continues as healthy", () => {
	const { health, said, system } = setUp();
	for (let count = 0; count < 4; count++) health.end(OVER);
	assert.deepEqual([health.isProbeDue(), health.isSuspected], [false, false]);
	health.end(GONE);
	for (let count = 0; count < 5; count++) health.end(OVER);
	assert.deepEqual([health.state, health.isProbeDue(), health.isSuspected], ["healthy", true, true]);
	assert.equal(health.hasRoom(7), true, "others go on meanwhile");
	health.probed(WELL, false);
	assert.deepEqual([health.state, health.isProbeDue(), health.isSuspected], ["healthy", false, false]);
	for (let count = 0; count < 5; count++) health.end(OVER);
	assert.equal(health.isProbeDue(), false, "not again immediately");
	system.advance(1000);
	assert.equal(health.isProbeDue(), true);
	assert.deepEqual(said(), []);
});

test("when the probe after such removals fails, too, the target is away until it answers", () => {
	const { health, said } = setUp();
	for (let count = 0; count < 5; count++) health.end(OVER);
	health.probed({ outcome: "unreachable", message: "the process exited with status 3" }, false);
	for (let count = 0; count < 3; count++) health.end(OVER);
	assert.deepEqual([health.state, health.hasRoom(0)], ["away", false]);
	health.probed(WELL, true);
	health.begin();
	health.end(OVER);
	assert.equal(health.state, "healthy", "the one that was tried was the lease's doing");
	assert.deepEqual(said(), ["error lease.target.away", "info lease.target.healthy"]);
});

test("a denial blocks immediately and is an alarm, and one more lease is tried", () => {
	const { health, said } = setUp();
	health.end(DENIED);
	assert.equal(health.state, "blocked");
	assert.deepEqual(health.refusal(), DENIED);
	assert.deepEqual(said(), ["error lease.target.blocked"]);
	assert.equal(health.hasRoom(0), true);
	health.begin();
	health.end(DENIED);
	assert.equal(health.hasRoom(0), false);
	assert.deepEqual(said(), ["error lease.target.blocked"]);
});

test("when only one lease is denied, the next one shows it", () => {
	const { health } = setUp();
	health.end(DENIED);
	health.begin();
	health.end(GONE);
	assert.equal(health.state, "healthy");
});

test("a blocked target is probed every minute", () => {
	const { health, probeIn } = setUp();
	health.end(DENIED);
	for (let count = 0; count < 3; count++) {
		assert.equal(probeIn(), 60);
		health.probed({ outcome: "denied", message: "wrong password" }, false);
	}
	assert.equal(health.message, "wrong password");
});

test("a blocked target that goes away is away, and one that comes back without rights is blocked", () => {
	const { health, probeIn, said } = setUp();
	health.end(DENIED);
	health.probed({ outcome: "unreachable", message: "no route" }, false);
	assert.equal(health.state, "away");
	assert.equal(probeIn(), 1);
	health.probed({ outcome: "denied", message: "wrong password" }, false);
	assert.equal(health.state, "blocked");
	assert.deepEqual(said(), ["error lease.target.blocked", "error lease.target.away", "error lease.target.blocked"]);
});

test("a target that answers probes with a refusal is not well yet", () => {
	const { health, fail } = setUp();
	fail(5);
	health.probed({ outcome: "rejected", message: "loading the data set" }, true);
	assert.equal(health.state, "away");
	assert.equal(health.hasRoom(0), false);
});

test("it says since when it is as it is", () => {
	const { health, system, fail } = setUp();
	system.advance(3000);
	fail(5);
	assert.equal(health.since, "2030-01-01T00:00:03.000Z");
	system.advance(3000);
	fail(5);
	assert.equal(health.since, "2030-01-01T00:00:03.000Z");
});
