import assert from "node:assert/strict";
import { test } from "node:test";
import { createConnectionLimits } from "./connection-limits.ts";

/** Creates limits on a clock that stands until it is moved. */
function limitsAt() {
	let now = 0;
	const limits = createConnectionLimits(() => now);
	const take = (source: string, count: number) => {
		const answers = Array.from({ length: count }, () => limits.take(source));
		return answers.filter((refusal) => refusal === undefined).length;
	};
	return { limits, take, pass: (ms: number) => (now += ms) };
}

test("a source may open 256 connections at once, and 50 more each second", () => {
	const { limits, take, pass } = limitsAt();
	assert.equal(take("192.0.2.1", 256), 256);
	for (let index = 0; index < 256; index++) limits.release("192.0.2.1");
	assert.equal(limits.take("192.0.2.1"), "new_connections_per_source");
	assert.equal(take("192.0.2.2", 256), 256, "another source has its own");
	pass(1000);
	assert.equal(take("192.0.2.1", 256), 50);
	pass(60_000);
	assert.equal(take("192.0.2.1", 300), 206, "50 are open");
});

test("a source may hold 256 connections, however slowly it opens them", () => {
	const { limits, take, pass } = limitsAt();
	take("192.0.2.1", 256);
	pass(60_000);
	assert.equal(limits.take("192.0.2.1"), "connections_per_source");
	limits.release("192.0.2.1");
	assert.equal(limits.take("192.0.2.1"), undefined);
});

test("the sources of one IPv6 /48 hold at most 1,024 together, and open 200 a second", () => {
	const { limits, take, pass } = limitsAt();
	const source = (number: number) => `2001:db8:1:${number.toString(16)}::/64`;
	for (let number = 0; number < 4; number++) assert.equal(take(source(number), 256), 256);
	pass(60_000);
	assert.equal(limits.take(source(9)), "connections_per_site");
	assert.equal(limits.take("2001:db8:2:9::/64"), undefined, "another site");
	for (let number = 0; number < 4; number++) for (let index = 0; index < 256; index++) limits.release(source(number));
	let opened = 0;
	for (let number = 16; number < 1300; number++) opened += take(source(number), 1);
	assert.equal(opened, 1024);
	for (let number = 16; number < 1300; number++) limits.release(source(number));
	assert.equal(limits.take(source(2000)), "new_connections_per_source");
	pass(1000);
	opened = 0;
	for (let number = 3000; number < 4000; number++) opened += take(source(number), 1);
	assert.equal(opened, 200);
});

test("each limit tells what the fullest has, and who is quiet is forgotten", () => {
	const { limits, take, pass } = limitsAt();
	take("192.0.2.1", 10);
	take("192.0.2.2", 200);
	take("2001:db8:1:1::/64", 20);
	take("2001:db8:1:2::/64", 30);
	const full = { connections_per_source: 200, connections_per_site: 50, new_connections_per_source: 200 };
	assert.deepEqual(limits.fullest(), full);
	for (let index = 0; index < 200; index++) limits.release("192.0.2.2");
	pass(2000);
	limits.tidy();
	assert.deepEqual(limits.fullest(), { ...full, connections_per_source: 30, new_connections_per_source: 100 });
	pass(2000);
	limits.tidy();
	assert.deepEqual(limits.fullest(), { ...full, connections_per_source: 30, new_connections_per_source: 0 });
});
