import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeAlternativeNames } from "./san.ts";

const ADDRESS_4 = "8704";
const ADDRESS_6 = "8710";

function entry(name: string): string {
	return encodeAlternativeNames([name]).subarray(2).toString("hex");
}

function dns(name: string): string {
	return `82${name.length.toString(16).padStart(2, "0")}${Buffer.from(name).toString("hex")}`;
}

test("an entry that parses as an IP address is an address, any other a DNS name", () => {
	const table: [string, string][] = [
		["app.example.com", dns("app.example.com")],
		["*.example.com", dns("*.example.com")],
		["_srv.example.com", dns("_srv.example.com")],
		["10.0.0.255", `${ADDRESS_4}0a0000ff`],
		["10.0.0.256", dns("10.0.0.256")],
		["010.0.0.1", dns("010.0.0.1")],
		["::", `${ADDRESS_6}${"00".repeat(16)}`],
		["::1", `${ADDRESS_6}${"00".repeat(15)}01`],
		["fe80::", `${ADDRESS_6}fe80${"00".repeat(14)}`],
		["2001:db8::1:2", `${ADDRESS_6}20010db8${"00".repeat(8)}00010002`],
		["1:2:3:4:5:6:7:8", `${ADDRESS_6}00010002000300040005000600070008`],
		["1::3:4:5:6:7:8", `${ADDRESS_6}00010000000300040005000600070008`],
		["::ffff:192.0.2.1", `${ADDRESS_6}${"00".repeat(10)}ffffc0000201`],
		["64:ff9b::192.0.2.1", `${ADDRESS_6}0064ff9b${"00".repeat(8)}c0000201`],
	];
	for (const [name, expected] of table) {
		assert.equal(entry(name), expected, name);
	}
});

test("what is neither an address nor a host name is refused without repeating it", () => {
	const said = new Set<string>();
	for (const name of ["", "a b", "a\0", "a\r\nb", 'a"b', "a,DNS:b", "münchen.de", "fe80::1%eth0", "a".repeat(254)]) {
		assert.throws(
			() => encodeAlternativeNames(["ok", name]),
			({ message }: Error) => {
				said.add(message);
				return true;
			},
		);
	}
	assert.match([...said].join("\n"), /^san entry 2 .*$/, "the same for each");
	assert.throws(() => encodeAlternativeNames(Array.from({ length: 101 }, () => "a")), {
		message: /^san .*\b100\b/,
	});
});

test("a hundred of the longest names fit", () => {
	assert.equal(encodeAlternativeNames(Array.from({ length: 100 }, () => "a".repeat(253))).length, 4 + 100 * 256);
});
