import assert from "node:assert/strict";
import { test } from "node:test";
import { stays } from "../../../packages/server/src/testing/stays.ts";
import { eventually } from "../../harness/engine-world.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";
import { LOST } from "./oracle.ts";

const { options, world, steering } = useKeyValueWorld("steered");

const toldOf = async (username: string) =>
	(await world.history(username)).filter(({ type }) => type === "lease.lost").length;

test(
	"credentials that a restart of the target lost are marked once, and are revoked as others are",
	options,
	async () => {
		const made = [await world.made(), await world.made(), await world.made({ ttl: "10m" })];
		await steering.pass(120);
		await world.redis.kill();
		await world.redis.start();
		assert.deepEqual(await world.redis.users(), []);
		const before = world.server.stderr().length;
		for (const { lease } of made) {
			await eventually("it is marked", async () => (await world.lease(lease.id)).last_error === LOST);
			assert.equal((await world.lease(lease.id)).state, "active");
		}
		await steering.pass(120);
		await stays(
			"each is reported once",
			async () => (await Promise.all(made.map(({ username }) => toldOf(username)))).every((count) => count === 1),
			500,
		);
		const [asked, deleted, ended] = made;
		assert.ok(asked && deleted && ended);
		const errors = world.server
			.stderr()
			.slice(before)
			.split("\n")
			.filter((line) => line.includes('"level":"error"'));
		assert.deepEqual(errors, []);
		const message = `credentials revoked: user ${asked.username} deleted`;
		const { body } = await world.validate("keyvalue", { username: asked.username });
		assert.deepEqual(body, { valid: true, message });
		assert.equal(await world.revoke(deleted.lease.id), 200);
		await steering.pass(600);
		for (const { lease } of made) await world.until(lease.id, "revoked");
		const health = await world.details();
		assert.deepEqual(
			health.targets.filter(({ status }) => status !== "healthy"),
			[],
		);
	},
);

test("new credentials are made at the target that came back", options, async () => {
	await world.redis.kill();
	await world.redis.start();
	const { username, lease } = await world.made();
	assert.equal(await world.isThere(username), true);
	assert.equal(await world.revoke(lease.id), 200);
});
