import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { events } from "../../harness/events.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world, steering } = useKeyValueWorld("steered", { aclfile: true });

const gone = (name: string) => eventually(`${name} is gone`, async () => !(await world.isThere(name)));

/** Returns the log's events about a name without a lease, which tell whether it was removed. */
async function orphanEvents(wanted: string): Promise<unknown[]> {
	const found = await events(world.client, world.admin, "type=lease.orphan");
	return found.filter(({ data }) => data.name === wanted).map(({ data }) => data.is_removed);
}

test("a credential that a restart of the target brought back is revoked again", options, async () => {
	const { username, password, lease } = await world.made();
	await world.redis.admin("ACL", "SAVE");
	assert.equal(await world.revoke(lease.id), 200);
	await world.redis.restart();
	const session = await world.redis.login(username, password).catch(() => undefined);
	await gone(username);
	await session?.ended;
	await world.until(lease.id, "revoked");
	const story = (await world.history(username)).map(({ type, data }) => `${type} ${data.reason ?? ""}`.trim());
	assert.deepEqual(story.slice(-2), ["lease.zombie", "lease.revoked zombie"]);
	await assert.rejects(world.redis.login(username, password), /WRONGPASS/);
});

test("where the target writes its aclfile after each removal a restart brings nothing back", options, async () => {
	await world.set({ acl_save: true });
	const { username, lease } = await world.made();
	await world.redis.admin("ACL", "SAVE");
	assert.equal(await world.revoke(lease.id), 200);
	await world.redis.restart();
	assert.equal(await world.isThere(username), false);
	assert.deepEqual(
		(await world.history(username)).filter(({ type }) => type === "lease.zombie"),
		[],
	);
	await world.set();
});

test("one that comes back while the server is down is revoked when it starts", options, async () => {
	const { username, lease } = await world.made();
	await world.redis.admin("ACL", "SAVE");
	assert.equal(await world.revoke(lease.id), 200);
	await world.server.stop();
	await world.redis.restart();
	assert.equal(await world.isThere(username), true);
	await world.server.restart();
	await gone(username);
	await world.until(lease.id, "revoked");
});

test("a name that nobody knows is reported once at a target that others use, and left alone", options, async () => {
	await world.redis.admin("ACL", "SETUSER", "svc_human", "on", ">x");
	const unknown = ["svc_deadbee0", "svc_deadbee1", "svc_deadbee2"];
	for (const [at, name] of unknown.entries()) {
		await world.redis.admin("ACL", "SETUSER", name, "on", ">x");
		await eventually("it is reported", async () => (await orphanEvents(name)).length > 0);
		await eventually("it is counted", async () => (await world.metric("svc_lease_orphans")) === at + 1);
		await steering.pass(16 * 60);
	}
	for (const name of unknown) {
		assert.equal(await world.isThere(name), true);
		assert.equal((await orphanEvents(name)).length, 1);
	}
	await world.redis.admin("ACL", "DELUSER", ...unknown);
});

test("at a target of ours alone it is removed when it is seen again after a quarter of an hour", options, async () => {
	await world.set({ exclusive: true });
	await world.redis.admin("ACL", "SETUSER", "svc_cafecafe", "on", ">x");
	await eventually("it is reported", async () => (await orphanEvents("svc_cafecafe")).length > 0);
	assert.equal(await world.isThere("svc_cafecafe"), true);
	await steering.pass(15 * 60);
	await gone("svc_cafecafe");
	assert.deepEqual(await orphanEvents("svc_cafecafe"), [true, false]);
	assert.equal(await world.isThere("svc_human"), true, "what is not of the managed shape is nobody's business");
	await world.set();
});

test("a credential of ours is no stranger under another address of the same target", options, async () => {
	const { username, lease } = await world.made({ ttl: "10h" });
	await world.set({ address: world.redis.address, exclusive: true });
	await world.redis.admin("ACL", "SETUSER", "svc_0badcafe", "on", ">x");
	await eventually("a stranger is reported, at both", async () => (await orphanEvents("svc_0badcafe")).length === 2);
	await steering.pass(15 * 60);
	await gone("svc_0badcafe");
	assert.deepEqual(await orphanEvents(username), []);
	assert.equal(await world.isThere(username), true);
	assert.equal(await world.revoke(lease.id), 200);
	assert.equal(await world.isThere(username), false);
});
