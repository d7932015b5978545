/* The client imports nothing of the server, so each has its own test of an address: both must give the same answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopback as isLoopbackForClient } from "../../packages/cli/src/client/address.ts";
import { isLoopback } from "../../packages/server/src/config.ts";

const LOOPBACK = ["localhost", "LOCALHOST", "127.0.0.1", "127.255.255.254", "127.1", "2130706433", "[::1]", "[0::1]"];
const ELSEWHERE = [
	...["localhost.example.com", "localhost.", "127.0.0.1.example.com", "127.example.com"],
	...["128.0.0.1", "0.0.0.0", "10.127.0.1", "[::]", "[::2]", "[::ffff:127.0.0.1]", "[fe80::1]"],
];

for (const [hosts, expected] of [
	[LOOPBACK, true],
	[ELSEWHERE, false],
] as const) {
	for (const host of hosts) {
		test(`client and server agree that ${host} is ${expected ? "" : "not "}loopback`, () => {
			const url = new URL(`http://${host}/`);
			assert.deepEqual([isLoopbackForClient(url), isLoopback(url.hostname)], [expected, expected]);
		});
	}
}
