import assert from "node:assert/strict";
import { test } from "node:test";
import { siteOf, sourceGroup } from "./source-group.ts";

test("an IPv4 address is a source by itself, however a socket of version 6 spells it", () => {
	for (const ip of ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"])
		assert.equal(sourceGroup(ip), "192.0.2.1", ip);
	assert.notEqual(sourceGroup("192.0.2.2"), "192.0.2.1");
	assert.equal(siteOf("192.0.2.1"), undefined);
});

test("all addresses of an IPv6 /64 are one source, in whatever spelling", () => {
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

test("what is no address is a source of its own", () => {
	for (const text of ["", "localhost", "1:2", ":::", "2001:db8::7::1"]) {
		assert.equal(sourceGroup(text), text);
		assert.equal(siteOf(sourceGroup(text)), undefined);
	}
});
