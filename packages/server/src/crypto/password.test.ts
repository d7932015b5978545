import assert from "node:assert/strict";
import { test } from "node:test";
import { hashSync, parseOptions } from "@node-rs/argon2";
import { AppError } from "../errors.ts";
import { DUMMY_HASH, hashPassword, verifyPassword } from "./password.ts";

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
	assert.deepEqual(parseOptions(DUMMY_HASH), parseOptions(await hashPassword(PASSWORD)));
});

test("a malformed stored hash is our error and not a wrong password", async () => {
	for (const stored of ["", "plain", "$argon2id$v=19$m=65536,t=3,p=1$"]) {
		await assert.rejects(
			verifyPassword(stored, PASSWORD),
			(error) => error instanceof AppError && error.code === "internal_error",
		);
	}
});

test("a stored hash of another cost is refused before it is computed", async () => {
	const cheap = (options: object) =>
		hashSync(PASSWORD, { memoryCost: 65_536, timeCost: 3, parallelism: 1, ...options });
	const others = [
		cheap({ memoryCost: 1024 }),
		cheap({ timeCost: 1 }),
		cheap({ parallelism: 2 }),
		cheap({ algorithm: 1 }),
	];
	const costly = DUMMY_HASH.replace("m=65536", "m=2097152");
	const before = process.cpuUsage();
	for (const stored of [costly, ...others]) {
		await assert.rejects(
			verifyPassword(stored, PASSWORD),
			(error) => error instanceof AppError && error.code === "internal_error",
			stored.slice(0, 40),
		);
	}
	const { user, system } = process.cpuUsage(before);
	assert.ok(user + system < 2_000_000, "the costly one alone takes 13 s");
});
