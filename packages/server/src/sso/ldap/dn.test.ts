import assert from "node:assert/strict";
import { test } from "node:test";
import { type DistinguishedName, isBelow, normalDn, parseDn, writeDn } from "./dn.ts";

const parsed = (text: string): DistinguishedName => {
	const name = parseDn(text);
	assert.ok(name, text);
	return name;
};

test("a name is read with its escapes", () => {
	assert.deepEqual(parsed("UID=a , ou = People+L=x,2.5.4.3=y"), [
		[{ type: "uid", value: "a" }],
		[
			{ type: "ou", value: "People" },
			{ type: "l", value: "x" },
		],
		[{ type: "2.5.4.3", value: "y" }],
	]);
	assert.equal(parsed(String.raw`cn=\C3\84\, \"b\"\20`)[0]?.[0]?.value, 'Ä, "b" ');
	assert.equal(parsed(String.raw`cn=a\\`)[0]?.[0]?.value, "a\\");
	assert.equal(parsed(String.raw`cn=\#04\ `)[0]?.[0]?.value, "#04 ");
	assert.equal(parsed("cn=a=b")[0]?.[0]?.value, "a=b");
});

test("anything that is not a name, or is in an old form, is refused", () => {
	const texts = ["", "alice", "uid=", "uid=a,", "uid=a,,dc=b", "=a", "uid=a;dc=b", 'uid="a"', "uid=#0401", "uid=a<b"];
	const escapes = ["a\\", "uid=a\\", String.raw`uid=a\zz`, String.raw`uid=\ff`, String.raw`uid=\00`, "uid=a\0"];
	for (const text of [...texts, ...escapes]) assert.equal(parseDn(text), undefined, text);
});

test("whatever a value holds, the name that is written is read as the same", () => {
	const values = [
		" a",
		"a ",
		"#04026162",
		"a\\",
		String.raw`a\,dc=x`,
		'a",b',
		"a+b=c;<d>",
		"é\n\u202e𝄞",
		"\\2a",
		"a  b",
		"\\",
	];
	for (const value of values) {
		const name = [[{ type: "uid", value }], [{ type: "dc", value: "test" }]];
		assert.deepEqual(parseDn(writeDn(name)), name, value);
	}
});

test("one name has one normal spelling", () => {
	const spellings = ["OU=My  People , DC=Test", "ou=my people,dc=test", "Ou = MY PEOPLE,dc= TEST "];
	for (const spelling of spellings) assert.equal(normalDn(parsed(spelling)), "ou=my people,dc=test");
	assert.equal(normalDn(parsed("cn=b+a=c,dc=x")), normalDn(parsed("A=c + CN=B, dc=x")));
	assert.equal(normalDn(parsed(String.raw`o=A\, B,c=DE`)), String.raw`o=a\, b,c=de`);
});

test("only what ends with the whole base is below it", () => {
	const base = parsed("ou=people,dc=test");
	for (const text of ["uid=a,ou=people,dc=test", "uid=a, ou=x,OU=People,DC=test"])
		assert.ok(isBelow(parsed(text), base), text);
	const others = ["ou=people,dc=test", "dc=test", "uid=a,ou=people,dc=test,dc=b", String.raw`uid=a\,ou=people,dc=test`];
	for (const text of others) assert.ok(!isBelow(parsed(text), base), text);
});
