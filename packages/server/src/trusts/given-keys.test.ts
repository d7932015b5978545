import assert from "node:assert/strict";
import { test } from "node:test";
import { newKey } from "../../../../test/peers/issuer.ts";
import { GivenKeys } from "./given-keys.ts";
import type { Jwt } from "./jwt.ts";

const [first, second, other] = [newKey("ES256", "first"), newKey("ES256", "second"), newKey("ES256", "first")];
const jwksOf = (...keys: (typeof first)[]) => JSON.stringify({ keys: keys.map(({ jwk }) => jwk) });
const jwtOf = (kid: string | undefined) => ({ alg: "ES256", kid }) as Jwt;

test("a key that was read once is found again by its set's text and the JWT's header, and no other key is", () => {
	const given = new GivenKeys();
	const jwks = jwksOf(first, second);
	assert.equal(given.recall(jwks, jwtOf("first")), undefined);
	const read = given.read(jwks, jwtOf("first"));
	assert.deepEqual(
		read.map(({ kid }) => kid),
		["first"],
	);
	assert.equal(given.recall(jwks, jwtOf("first")), read);
	assert.equal(given.recall(jwks, jwtOf("second")), undefined, "it was not imported");
	assert.deepEqual([given.recall(jwks, jwtOf("third")), given.read(jwks, jwtOf("third"))], [[], []]);
	assert.deepEqual([given.recall(jwks, jwtOf(undefined)), given.read(jwks, jwtOf(undefined))], [[], []], "two fit");
	const replaced = jwksOf(other);
	assert.equal(given.recall(replaced, jwtOf("first")), undefined);
	assert.notEqual(given.read(replaced, jwtOf("first"))[0]?.key, read[0]?.key);
	assert.equal(given.recall(jwks, jwtOf("first")), read);
});
