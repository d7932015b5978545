import assert from "node:assert/strict";
import { test } from "node:test";
import { isPrivateAddress } from "./private-addresses.ts";

test("addresses of this machine, of private networks and of metadata services are private, however they are written", () => {
	for (const address of [
		...["127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"],
		...["169.254.169.254", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.192"],
		...["::1", "::", "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"],
		...["2002:7f00:1::", "fe80::1", "fd00:ec2::254", "fc00::1", "ff02::1", "2001::1"],
		...["", "localhost", "127.1", "fe80::1%eth0x!"],
	]) {
		assert.ok(isPrivateAddress(address), address);
	}
});

test("addresses of the Internet are public", () => {
	for (const address of ["1.1.1.1", "140.82.112.3", "172.32.0.1", "100.128.0.1", "::ffff:1.1.1.1", "2606:4700::1111"]) {
		assert.ok(!isPrivateAddress(address), address);
	}
});
