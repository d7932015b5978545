import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Fields } from "@svc/protocol";
import { CERTIFICATES, skipWithoutRedis } from "../../../../../../test/peers/redis.ts";
import { AppError } from "../../../errors.ts";
import { ForbiddenCommand } from "../managed-user.ts";
import { NAME, needsOf, PASSWORD, refusedAs, subject } from "../testing.ts";
import { createKeyValueConnector } from "./connector.ts";
import { connect, create, kvSet, redisFor } from "./testing.ts";

const redisTest = { skip: skipWithoutRedis };

test("a user is created, found, listed, used and deleted, and deleted again", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	await connector.ping();
	assert.equal(await connector.exists(subject()), false);
	await create(connector, kvSet());
	await redis.admin("ACL", "SETUSER", "svc_somebody", "on");
	assert.equal(await connector.exists(subject()), true);
	assert.deepEqual(await connector.list(), [NAME]);
	const session = await redis.login(NAME, PASSWORD);
	assert.equal(await session.send("GET", "key"), null);
	await assert.rejects(session.send("SET", "key", "value"), /NOPERM/);
	await connector.remove(subject());
	await session.ended;
	assert.equal(await connector.exists(subject()), false);
	await connector.remove(subject());
	await assert.rejects(redis.login(NAME, PASSWORD), /WRONGPASS/);
	assert.deepEqual(await redis.users(), ["svc_somebody"]);
});

test("a user that is not managed is never deleted", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis);
	await redis.admin("ACL", "SETUSER", "svc_ABCDEF12", "on");
	for (const name of ["default", "svc_", "svc_ABCDEF12", "*"]) {
		await assert.rejects(connector.remove(subject(name)), ForbiddenCommand);
	}
	assert.deepEqual(await redis.users(), ["svc_ABCDEF12"]);
});

test("with acl_save a restart does not bring a deleted user back", redisTest, async (t) => {
	const redis = await redisFor(t, { aclfile: true });
	for (const acl_save of [false, true]) {
		const connector = connect(t, redis, { acl_save });
		await create(connector, kvSet());
		await redis.admin("ACL", "SAVE");
		await connector.remove(subject());
		await redis.restart();
		assert.equal(await connector.exists(subject()), !acl_save);
	}
});

test("acl_save does no harm where there is no aclfile", redisTest, async (t) => {
	const redis = await redisFor(t);
	const connector = connect(t, redis, { acl_save: true });
	await create(connector, kvSet());
	await connector.remove(subject());
	assert.deepEqual(await redis.users(), []);
});

test("over TLS the store's certificate must be of the given authority", redisTest, async (t) => {
	const redis = await redisFor(t, { tls: true });
	const ca_cert = await readFile(CERTIFICATES.own, "utf8");
	const trusting = connect(t, redis, { tls: true, ca_cert });
	await trusting.ping();
	await create(trusting, kvSet());
	assert.equal(await trusting.exists(subject()), true);
	const untrusted = refusedAs(
		"unreachable",
		/\((?:DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_SIGNATURE_FAILURE)\)/,
	);
	const other = await readFile(CERTIFICATES.other, "utf8");
	for (const fields of [{ tls: true, ca_cert: other }, { tls: true }]) {
		await assert.rejects(connect(t, redis, fields).ping(), untrusted);
	}
});

test("the core adds the address and the database", () => {
	const detailsWith = (fields: Fields) => createKeyValueConnector(needsOf({ password: "secret", ...fields })).details();
	const address = "[::1]:6379";
	assert.deepEqual(detailsWith({ address, database: 3, tls: true }), { address, database: 3 });
	assert.deepEqual(detailsWith({ address: "redis:6379" }), { address: "redis:6379", database: 0 });
});

test("a configuration that cannot be used is refused by the name of its field", () => {
	const hostless = ["", "redis", "redis:", ":6379", "::1:6379", "[::1]", "a b:1"];
	const strange = ["redis:0", "redis:65536", "redis:6379/1", "redis://redis:6379", "user:secret@redis:6379"];
	const bad: [Fields, RegExp][] = [
		...[...hostless, ...strange, undefined].map((address): [Fields, RegExp] => [
			{ address },
			/^address .*\bhost:port$/,
		]),
		[{ password: undefined }, /^password\b/],
		[{ database: -1 }, /^database\b/],
		[{ tls: "yes" }, /^tls\b/],
	];
	for (const [fields, says] of bad) {
		assert.throws(
			() => createKeyValueConnector(needsOf({ address: "redis:6379", password: "secret", ...fields })),
			(error) => error instanceof AppError && error.code === "validation_failed" && says.test(error.message),
			JSON.stringify(fields),
		);
	}
});
