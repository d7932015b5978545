import assert from "node:assert/strict";
import { test } from "node:test";
import { isAlias } from "./address.ts";

test("another loopback name with the same port is the server's own address by another name", () => {
	const own = "https://localhost:8443";
	const table: [host: string | undefined, address: string, expected: boolean][] = [
		["127.0.0.1:8443", own, true],
		["[::1]:8443", own, true],
		["127.0.0.2:8443", own, true],
		["localhost:8443", "https://127.0.0.1:8443", true],
		["127.0.0.1", "http://localhost", true],
		["127.0.0.1:443", "https://localhost/svc", true],
		["localhost:8443", own, false],
		["LOCALHOST:8443", own, false],
		["127.0.0.1:8444", own, false],
		["127.0.0.1", own, false],
		["127.0.0.1:8443@svc.example.com", own, false],
		["127.0.0.1.example.com:8443", own, false],
		["svc.example.com:8443", own, false],
		["127.0.0.1:8443", "https://svc.example.com:8443", false],
		["", own, false],
		[undefined, own, false],
	];
	for (const [host, address, expected] of table)
		assert.equal(isAlias(host, address), expected, `${host} of ${address}`);
});
