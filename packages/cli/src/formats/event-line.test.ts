import assert from "node:assert/strict";
import test from "node:test";
import { eventCells, factsInWords } from "./event-line.ts";

test("facts begin with what they are about, and end with where it came from", () => {
	const facts = { environment: "prod", ip: "10.0.0.7", key: "DB_URL", reason: "no", request_id: "r", version: 3 };
	assert.equal(factsInWords(JSON.stringify(facts)), "DB_URL prod v3 reason=no ip=10.0.0.7");
	assert.equal(factsInWords('{"pre_encrypted":false,"key":"A"}'), "A");
	assert.equal(factsInWords('{"pre_encrypted":true,"key":"A"}'), "A pre_encrypted=true");
	assert.equal(
		factsInWords(JSON.stringify({ count: 2, environment: "", via: "eso", list: ["a"] })),
		'count=2 list=["a"] via=eso',
	);
});

test("a bulk read says whether it was of values or of keys alone", () => {
	const facts = { environment: "prod", count: 3, key_set: "ff65" };
	assert.equal(factsInWords(JSON.stringify(facts), "secret.list"), "prod values=3");
	assert.equal(factsInWords(JSON.stringify({ ...facts, values: false }), "secret.list"), "prod keys=3");
});

test("accounts that an event is about are shown by name", () => {
	const facts = JSON.stringify({ user_id: "id", role: "viewer" });
	assert.equal(factsInWords(facts, "policy.binding.created", { id: "bob@example.com" }), "bob@example.com role=viewer");
	assert.equal(factsInWords(facts, "policy.binding.created", { other: "x" }), "id role=viewer");
});

test("facts that are no JSON object stay as they are", () => {
	for (const data of ["", "none", "[1]", '"text"']) assert.equal(factsInWords(data), data);
});

test("an actor is shown by e-mail where it is known", () => {
	const event = { timestamp: "t", type: "secret.read", actor: "id", realm: "shop", data: "{}" };
	assert.deepEqual(eventCells(event), ["t", "id", "secret.read", "shop", ""]);
	assert.equal(eventCells({ ...event, email: "ada@example.com" })[1], "ada@example.com");
});

test("a machine is shown by its realm and name, once", () => {
	const data = JSON.stringify({ key: "DB_URL", machine: "shop/deploy", token_id: "t" });
	const event = { timestamp: "t", type: "secret.read", actor: "id", realm: "shop", data };
	assert.deepEqual(eventCells(event).slice(1), ["machine:shop/deploy", "secret.read", "shop", "DB_URL token_id=t"]);
	assert.equal(eventCells({ ...event, email: "ada@example.com" })[1], "ada@example.com");
	assert.equal(eventCells({ ...event, data: '{"machine":3}' })[1], "id");
});
