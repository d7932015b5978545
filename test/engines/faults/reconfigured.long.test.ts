import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { realm } from "../../harness/fixtures.ts";
import { type Redis, startRedis } from "../../peers/redis.ts";
import { type Credential, useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world } = useKeyValueWorld("plain");
let other: Redis;

before(async () => {
	if (options.skip === false) other = await startRedis();
});
after(async () => {
	if (options.skip === false) await other.stop();
});

const toOther = () => world.set({ address: other.address, password: other.password });

const validate = ({ username }: Credential) => world.validate("keyvalue", { username });

const gone = (name: string) => eventually(`${name} is gone`, async () => !(await world.isThere(name)));

/** Changes the password of an administrator of the usual target. */
async function changePassword(to: string): Promise<void> {
	await world.redis.admin("ACL", "SETUSER", "boss", "reset", "on", `>${to}`, "~*", "&*", "+@all");
	await world.redis.admin("CLIENT", "KILL", "USER", "boss");
}

const asBoss = (password: string) => world.set({ username: "boss", password });

/** Makes two open credentials at the usual target, and one that ends soon. */
async function makeThree() {
	return { asked: await world.made(), deleted: await world.made(), ending: await world.made({ ttl: "3s" }) };
}

/** Fails unless all three can be revoked, however the engine is configured now. */
async function assertRevocable({ asked, deleted, ending }: Awaited<ReturnType<typeof makeThree>>): Promise<void> {
	const message = `credentials revoked: user ${asked.username} deleted`;
	assert.deepEqual(ok(await validate(asked)), { valid: true, message });
	assert.equal(await world.isThere(asked.username), false, "what is answered is true");
	assert.equal(await world.revoke(deleted.lease.id), 200);
	assert.equal(await world.isThere(deleted.username), false);
	await gone(ending.username);
	for (const { lease } of [asked, deleted, ending]) await world.until(lease.id, "revoked");
}

test("with a new password", options, async () => {
	await changePassword("first");
	await asBoss("first");
	const made = await makeThree();
	await changePassword("second");
	await asBoss("second");
	await assertRevocable(made);
});

test("with a new address of the same target", options, async () => {
	await world.set({ address: world.redis.address });
	const made = await makeThree();
	await world.set();
	await assertRevocable(made);
});

test("with another target", options, async () => {
	await world.set();
	const made = await makeThree();
	await toOther();
	await assertRevocable(made);
	const there = await world.made();
	assert.ok((await other.users()).includes(there.username));
	ok(await validate(there));
	assert.deepEqual(await other.users(), []);
});

test("with another target after a new password", options, async () => {
	await changePassword("first");
	await asBoss("first");
	const made = await makeThree();
	await changePassword("second");
	await asBoss("second");
	await toOther();
	await assertRevocable(made);
});

test("with another target after a wrong password", options, async () => {
	await changePassword("right");
	await asBoss("right");
	const made = await makeThree();
	await asBoss("wrong");
	await toOther();
	await assertRevocable(made);
});

test("without any configuration", options, async () => {
	await changePassword("first");
	await asBoss("first");
	const { asked, deleted, ending } = await makeThree();
	await changePassword("second");
	await asBoss("second");
	const { token } = world.admin;
	ok(await world.client.delete("/engines/keyvalue/config", { token }));
	refused(await validate(asked), 400, "engine_not_configured");
	refused(await world.make(), 400, "engine_not_configured");
	for (const { lease } of [asked, deleted]) assert.equal(await world.revoke(lease.id), 200);
	for (const { username } of [asked, deleted, ending]) await gone(username);
	await world.set();
});

test("without the realm's own, which led to another target", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const { token } = world.admin;
	const own = { address: other.address, password: other.password };
	ok(await world.configure("keyvalue", own, slug));
	const { username, lease } = await world.made({}, slug);
	assert.ok((await other.users()).includes(username));
	ok(await world.client.delete(`/realms/${slug}/engines/keyvalue/config`, { token }));
	assert.equal((await world.lease(lease.id, slug)).state, "active");
	ok(await world.validate("keyvalue", { username }, slug));
	assert.deepEqual(await other.users(), []);
});

test("after a restart, with two targets left behind", options, async () => {
	await world.set();
	const first = await world.made();
	await toOther();
	const second = await world.made();
	const path = "/engines/keyvalue/config";
	ok(await world.client.delete(path, { token: world.admin.token }));
	await world.server.restart();
	for (const { lease } of [first, second]) assert.equal(await world.revoke(lease.id), 200);
	assert.equal(await world.isThere(first.username), false);
	assert.deepEqual(await other.users(), []);
	await world.set();
});

test("while credentials are made, none is lost and none fails but for the target that goes", options, async () => {
	let isOver = false;
	const making = Array.from({ length: 6 }, async () => {
		while (!isOver) {
			const { status, text } = await world.make({ ttl: "2s" });
			assert.ok(status === 200 || status === 503, text);
		}
	});
	const changing = async () => {
		for (let round = 0; round < 5; round++) {
			await toOther();
			await world.set();
		}
		isOver = true;
	};
	await Promise.all([...making, changing()]);
	const users = async () => [...(await world.redis.users()), ...(await other.users())];
	const isEmpty = async () => !(await users()).some((name) => name.startsWith("svc_"));
	await eventually("all are gone", isEmpty);
	await eventually("every lease is closed", async () => (await world.openLeases()) === 0);
});
