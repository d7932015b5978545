import assert from "node:assert/strict";
import { test } from "node:test";
import { parseOptions } from "@node-rs/argon2";
import { AppError } from "../errors.ts";
import { hashPassword, NOBODYS_HASH, verifyPassword } from "./password.ts";

const PASSWORD = "correct horse battery";

test("a password matches its hash and no other does", async () => {
	const stored = await hashPassword(PASSWORD);
	assert.equal(await verifyPassword(stored, PASSWORD), true);
	assert.equal(await verifyPassword(stored, `${PASSWORD} `), false);
});

test("a hash is argon2id with 64 MiB, three passes and one lane, and is new each time", async () => {
	const [first, second] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
	assert.match(first, /^\$argon2id\$v=19\$m=65536,t=3,p=1\$/);
	assert.notEqual(first, second);
});

test("the same password typed in another normal form matches", async () => {
	const stored = await hashPassword("ﬁlé-password");
	assert.equal(await verifyPassword(stored, "file\u0301-password"), true);
});

test("without a stored hash the answer is false and the work the same", async () => {
	assert.equal(await verifyPassword(undefined, PASSWORD), false);
	assert.deepEqual(parseOptions(NOBODYS_HASH), parseOptions(await hashPassword(PASSWORD)));
});

test("a malformed stored hash is our error and not a wrong password", async () => {
	for (const stored of ["", "plain", "$argon2id$v=19$m=65536,t=3,p=1$"]) {
		await assert.rejects(
			verifyPassword(stored, PASSWORD),
			(error) => error instanceof AppError && error.code === "internal_error",
		);
	}
});

test("of many checks at once those beyond the queue are turned away", async () => {
	const outcomes = await Promise.allSettled(Array.from({ length: 70 }, () => verifyPassword("malformed", PASSWORD)));
	const codes = outcomes.map((outcome) =>
		outcome.status === "rejected" && outcome.reason instanceof AppError ? outcome.reason.code : "",
	);
	assert.equal(codes.filter((code) => code === "internal_error").length, 66);
	assert.equal(codes.filter((code) => code === "unhealthy").length, 4);
});
