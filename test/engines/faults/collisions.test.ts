import assert from "node:assert/strict";
import { test } from "node:test";
import { refused } from "../../harness/expect.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world, steering } = useKeyValueWorld("steered");

const user = (name: string) => world.redis.admin("ACL", "GETUSER", name);

test("a name that is somebody else's at the target is passed over, and theirs stays as it was", options, async () => {
	await world.redis.admin("ACL", "SETUSER", "svc_f0000001", "on", ">theirs", "~a", "+get");
	const theirs = await user("svc_f0000001");
	await steering.order({ names: ["svc_f0000001", "svc_f0000001", "svc_00000002"] });
	const { username, lease } = await world.made({ role: "admin" });
	assert.equal(username, "svc_00000002");
	assert.equal(lease.name, "svc_00000002");
	assert.deepEqual(await user("svc_f0000001"), theirs);
	(await world.redis.login("svc_f0000001", "theirs")).end();
});

test("a name of a credential that is in use is passed over, and that one still has one password", options, async () => {
	const first = await world.made();
	const before = await user(first.username);
	await steering.order({ names: [first.username, "svc_00000003"] });
	assert.equal((await world.made({ role: "admin" })).username, "svc_00000003");
	assert.deepEqual(await user(first.username), before);
	(await world.redis.login(first.username, first.password)).end();
});

test("a name that once was a credential's is not given again", options, async () => {
	const { username, lease } = await world.made();
	assert.equal(await world.revoke(lease.id), 200);
	assert.equal(await world.isThere(username), false);
	await steering.order({ names: [username, username, "svc_00000004"] });
	assert.equal((await world.made()).username, "svc_00000004");
	assert.equal(await world.isThere(username), false);
	assert.equal((await world.lease(lease.id)).state, "revoked");
});

test("after three names that are taken the engine is not asked again, and nothing is left open", options, async () => {
	const { username } = await world.made();
	const open = await world.openLeases();
	const users = (await world.redis.users()).length;
	for (const [at, taken] of [username, "svc_f0000001"].entries()) {
		const free = `svc_0000001${at}`;
		await steering.order({ names: [taken, taken, taken, free] });
		const answer = await world.make();
		refused(answer, 503, "engine_unavailable");
		assert.match(answer.text, /\btaken\b/);
		assert.equal(await world.openLeases(), open);
		assert.equal((await world.redis.users()).length, users);
		const next = await world.made();
		assert.equal(next.username, free, "it was asked three times");
		assert.equal(await world.revoke(next.lease.id), 200);
	}
});
