import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { createSourceReader, siteOf, sourceGroup } from "./source.ts";

test("an IPv4 address is its own source, also as an IPv6 socket spells it", () => {
	for (const ip of ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"])
		assert.equal(sourceGroup(ip), "192.0.2.1", ip);
	assert.notEqual(sourceGroup("192.0.2.2"), "192.0.2.1");
	assert.equal(siteOf("192.0.2.1"), undefined);
});

test("all addresses of an IPv6 /64 are one source, however they are spelled", () => {
	const group = "2001:db8:0:7::/64";
	for (const ip of [
		"2001:db8:0:7::1",
		"2001:0DB8:0000:0007:ffff:ffff:ffff:ffff",
		"2001:db8::7:0:0:0:9",
		"2001:db8:0:7::1.2.3.4",
	])
		assert.equal(sourceGroup(ip), group, ip);
	assert.notEqual(sourceGroup("2001:db8:0:8::1"), group);
	assert.equal(sourceGroup("::1"), "0:0:0:0::/64");
	assert.equal(sourceGroup("fe80::1%eth0"), "fe80:0:0:0::/64");
});

test("sources of one /48 are one site", () => {
	assert.equal(siteOf(sourceGroup("2001:db8:5:1::1")), "2001:db8:5::/48");
	assert.equal(siteOf(sourceGroup("2001:db8:5:ffff::1")), "2001:db8:5::/48");
	assert.notEqual(siteOf(sourceGroup("2001:db8:6:1::1")), "2001:db8:5::/48");
	assert.equal(siteOf(sourceGroup("::1")), "0:0:0::/48");
});

test("a text that is no address is its own source", () => {
	for (const text of ["", "localhost", "1:2", ":::", "2001:db8::7::1"]) {
		assert.equal(sourceGroup(text), text);
		assert.equal(siteOf(sourceGroup(text)), undefined);
	}
});

const from = (trusted: string[], remoteAddress: string | undefined, forwarded?: string | string[]) =>
	createSourceReader(trusted)({
		socket: { remoteAddress },
		headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
	} as unknown as IncomingMessage);

const PROXY = "10.0.0.1";
const INNER = "10.0.0.2";

test("without a proxy the source is the socket's other end, and X-Forwarded-For is nobody's business", () => {
	assert.equal(from([], "192.0.2.1"), "192.0.2.1");
	assert.equal(from([], "192.0.2.1", "198.51.100.7"), "192.0.2.1");
	assert.equal(from([], "127.0.0.1", "198.51.100.7"), "127.0.0.1");
});

test("only the proxy is believed", () => {
	assert.equal(from([PROXY], "192.0.2.1", "198.51.100.7"), "192.0.2.1");
	assert.equal(from([PROXY], "10.0.0.11", "198.51.100.7"), "10.0.0.11");
});

test("an IPv4 address is the same in a socket of either version", () => {
	assert.equal(from([], "::ffff:192.0.2.1"), "192.0.2.1");
	assert.equal(from([PROXY], `::ffff:${PROXY}`, "198.51.100.7"), "198.51.100.7");
	assert.equal(from([], "2001:db8::1"), "2001:db8::1");
	assert.equal(from(["::1"], "::1", "2001:db8::2"), "2001:db8::2");
});

test("a socket that is gone has no address, and that is no proxy", () => {
	assert.equal(from([], undefined, "198.51.100.7"), "");
	assert.equal(from([PROXY], undefined, "198.51.100.7"), "");
});

const FORWARDED: [header: string | string[] | undefined, source: string][] = [
	[undefined, PROXY],
	["", PROXY],
	["198.51.100.7", "198.51.100.7"],
	["  198.51.100.7 ", "198.51.100.7"],
	["203.0.113.9, 198.51.100.7", "198.51.100.7"],
	["203.0.113.9,198.51.100.7", "198.51.100.7"],
	[`198.51.100.7, ${INNER}`, "198.51.100.7"],
	[`203.0.113.9, 198.51.100.7, ${INNER}, ${PROXY}`, "198.51.100.7"],
	[`${INNER}, ${PROXY}`, PROXY],
	[["203.0.113.9", "198.51.100.7"], "198.51.100.7"],
	["2001:db8::7", "2001:db8::7"],
	["localhost", PROXY],
	["evil.example.com", PROXY],
	["1.2.3", PROXY],
	["999.1.1.1", PROXY],
	["203.0.113.9, 198.51.100.7:4711", "198.51.100.7"],
	["203.0.113.9, [2001:db8::7]:443", "2001:db8::7"],
	["203.0.113.9, [2001:db8::7]", "2001:db8::7"],
	["::ffff:198.51.100.7", "198.51.100.7"],
	[`198.51.100.7, ${INNER}:80`, "198.51.100.7"],
	["203.0.113.9, unknown", PROXY],
	["203.0.113.9,", PROXY],
	["203.0.113.9, 198.51.100.7:x", PROXY],
	["203.0.113.9, [198.51.100", PROXY],
];
for (const [header, source] of FORWARDED) {
	test(`behind a proxy, ${JSON.stringify(header)} names ${source}: the last entry that is no proxy's, if it is an address`, () => {
		assert.equal(from([PROXY, INNER], PROXY, header), source);
	});
}

test("what a caller writes in front of the proxy's own word changes nothing", () => {
	for (const forged of ["203.0.113.9", "127.0.0.1", PROXY, "x", ",,,", "203.0.113.9, 203.0.113.10"]) {
		assert.equal(from([PROXY], PROXY, `${forged}, 198.51.100.7`), "198.51.100.7", forged);
	}
});
