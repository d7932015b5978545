import assert from "node:assert/strict";
import test from "node:test";
import { jwtSourcesInMemory } from "./jwt-sources.ts";

const digest = (name: number) => Buffer.from(`JWT ${name}`);

function open() {
	const { noteSource } = jwtSourcesInMemory();
	return (payer: string, seen: Buffer, ip: string) => noteSource({ payer, digest: seen, ip });
}

test("each new source of a JWT is reported once, with the first address; addresses of one source count as one", () => {
	const note = open();
	assert.equal(note("ada", digest(1), "192.0.2.1"), undefined);
	assert.equal(note("ada", digest(1), "192.0.2.1"), undefined);
	assert.equal(note("ada", digest(2), "192.0.2.2"), undefined, "another JWT");
	assert.equal(note("ada", digest(1), "192.0.2.2"), "192.0.2.1");
	assert.equal(note("ada", digest(1), "192.0.2.2"), undefined);
	assert.equal(note("ada", digest(3), "2001:db8::1"), undefined);
	assert.equal(note("ada", digest(3), "2001:db8::2"), undefined, "the same line");
	assert.equal(note("ada", digest(3), "2001:db8:0:1::1"), "2001:db8::1");
});

test("one JWT from many sources, and endless JWTs, use bounded memory and are reported a bounded number of times", () => {
	const note = open();
	const admitted = Array.from({ length: 100 }, (_, at) => note("ada", digest(0), `192.0.2.${at}`)).filter(Boolean);
	assert.equal(admitted.length, 15);
	assert.equal(note("ada", digest(1), "192.0.2.1"), undefined);
	for (let name = 2; name < 10_001; name++) note("ada", digest(name), "192.0.2.1");
	assert.equal(note("ada", digest(1), "192.0.2.2"), "192.0.2.1", "it is one of the last 10,000");
	note("ada", digest(10_001), "192.0.2.1");
	assert.equal(note("ada", digest(2), "192.0.2.2"), undefined, "it is forgotten");
});

test("the JWTs of other accounts' realms, however many, do not make one forgotten", () => {
	const note = open();
	for (let name = 0; name < 100; name++) assert.equal(note("ada", digest(name), "192.0.2.1"), undefined);
	for (let name = 100; name < 20_100; name++) note("bob", digest(name), "192.0.2.1");
	for (let name = 0; name < 100; name++) assert.equal(note("ada", digest(name), "192.0.2.2"), "192.0.2.1");
});
