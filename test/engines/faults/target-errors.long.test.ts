import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { newest } from "../../harness/events.ts";
import { ok } from "../../harness/expect.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world, steering } = useKeyValueWorld("steered");

/** Configures an administrator of its own, whose rights can be denied. */
async function workAs(name: string): Promise<void> {
	await world.redis.admin("ACL", "SETUSER", name, "on", `>${name}`, "~*", "&*", "+@all");
	await world.set({ username: name, password: name });
}

async function isBlocked(): Promise<boolean> {
	return (await world.details()).targets.some(({ status }) => status === "blocked");
}

test(
	"a target that denies is blocked, and a new configuration lets everything through immediately",
	options,
	async () => {
		await workAs("clerk");
		const made = [await world.made(), await world.made(), await world.made({ ttl: "1s" })];
		await world.redis.admin("ACL", "SETUSER", "clerk", "-acl|deluser");
		for (const { lease } of made.slice(0, 2)) assert.equal(await world.revoke(lease.id), 202);
		await eventually("the target is blocked", isBlocked);
		assert.equal(await world.metric('svc_targets{state="blocked"}'), 1);
		const { state, last_error } = await world.lease(made[0]?.lease.id ?? "");
		assert.equal(state, "revoking");
		assert.match(last_error, /NOPERM/);
		await world.set();
		for (const { lease } of made) await world.until(lease.id, "revoked");
		for (const { username } of made) assert.equal(await world.isThere(username), false);
		assert.equal(await isBlocked(), false);
	},
);

test("rights that are given back at the target are noticed within a minute", options, async () => {
	await workAs("porter");
	const { lease, username } = await world.made();
	await world.redis.admin("ACL", "SETUSER", "porter", "resetpass", ">another");
	await world.redis.admin("CLIENT", "KILL", "USER", "porter");
	assert.equal(await world.revoke(lease.id), 202);
	await eventually("the target is blocked", isBlocked);
	await eventually("it was tried once more", async () => (await world.lease(lease.id)).attempts === 2);
	await world.redis.admin("ACL", "SETUSER", "porter", ">porter");
	await steering.pass(61);
	await world.until(lease.id, "revoked");
	assert.equal(await world.isThere(username), false);
	await world.set();
});

test("a credential that somebody removed by hand counts as revoked", options, async () => {
	const byHand = async () => {
		const credential = await world.made();
		await world.redis.admin("ACL", "DELUSER", credential.username);
		return credential;
	};
	const [asked, deleted, ended] = [await byHand(), await byHand(), await byHand()];
	const { username } = asked;
	const message = `credentials revoked: user ${username} deleted`;
	assert.deepEqual(ok(await world.validate("keyvalue", { username })), { valid: true, message });
	assert.equal(await world.revoke(deleted.lease.id), 200);
	await steering.pass(3601);
	for (const { lease } of [asked, deleted, ended]) await world.until(lease.id, "revoked");
});

test("a target that says done and keeps the user is not believed", options, async () => {
	const { lease, username } = await world.made();
	world.proxy.alter((text) => text.replace(/(DELUSER\r\n\$12\r\nsvc_)[0-9a-f]{8}/, "$100000000"));
	assert.equal(await world.revoke(lease.id), 202);
	const refused = await world.validate("keyvalue", { username });
	assert.equal(refused.status, 400, refused.text);
	assert.equal(await world.isThere(username), true);
	assert.equal((await world.lease(lease.id)).state, "revoking");
	await steering.pass(61);
	await eventually("it is overdue", async () => (await world.details()).leases.overdue === 1);
	assert.ok((await world.details()).leases.oldest_overdue_seconds >= 60);
	assert.equal(await world.metric('svc_leases_late{flag="overdue"}'), 1);
	const recorded = () => newest(world.client, world.admin, "lease.revoke_failed");
	await eventually("it is in the log", async () => (await recorded())?.data.name === username);
	assert.equal((await recorded())?.data.flag, "overdue");
	await steering.pass(15 * 60);
	await eventually("it is stuck", async () => (await world.details()).leases.stuck === 1);
	assert.equal((await world.lease(lease.id)).state, "revoking");
	world.proxy.restore();
	await steering.pass(301);
	await world.until(lease.id, "revoked");
	assert.equal(await world.isThere(username), false);
	await eventually("nothing is late", async () => (await world.details()).leases.overdue === 0);
});
