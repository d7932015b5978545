import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually } from "../../harness/engine-world.ts";
import { events } from "../../harness/events.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world, steering } = useKeyValueWorld("steered");
let copy: string;

before(async () => {
	copy = await mkdtemp(join(tmpdir(), "svc-copy-"));
});
after(() => rm(copy, { recursive: true }));

/** Copies the server's data while it is stopped. */
async function copyData(): Promise<void> {
	await world.server.stop();
	await cp(world.server.data, copy, { recursive: true, preserveTimestamps: true });
	await world.server.restart();
}

/** Replaces the server's data with the copy. */
async function putBack(): Promise<void> {
	await world.server.stop();
	await rm(world.server.data, { recursive: true });
	await cp(copy, world.server.data, { recursive: true });
	await world.server.restart();
}

async function orphans(): Promise<unknown[]> {
	const found = await events(world.client, world.admin, "type=lease.orphan");
	return found.filter(({ data }) => data.is_removed === false).map(({ data }) => data.name);
}

test(
	"credentials that yesterday's copy does not know are reported, and those that it knows end in time",
	options,
	async () => {
		const ended = await world.made({ ttl: "1h" });
		const revoked = await world.made();
		const lasting = await world.made({ ttl: "20h" });
		await copyData();
		assert.equal(await world.revoke(revoked.lease.id), 200);
		const today = [await world.made({ ttl: "10h" }), await world.made({ ttl: "20h" })];
		const names = today.map(({ username }) => username);
		await steering.pass(2 * 60 * 60);
		await world.until(ended.lease.id, "revoked");
		await world.redis.admin("ACL", "SETUSER", ended.username, "on", ">back");

		await putBack();
		await eventually("both of today are reported", async () => (await orphans()).length === 2);
		assert.deepEqual(new Set(await orphans()), new Set(names));
		for (const { lease, username } of [ended, revoked]) {
			await world.until(lease.id, "revoked");
			assert.equal(await world.isThere(username), false);
		}
		assert.equal((await world.lease(lasting.lease.id)).state, "active");
		assert.equal(await world.isThere(lasting.username), true);
		for (const name of names) assert.equal(await world.isThere(name), true, "others may use this target");

		await steering.order({ names: [...names, "svc_0000000f"] });
		assert.equal((await world.made()).username, "svc_0000000f", "names of today are not given again");
		await world.set({ exclusive: true });
		await steering.pass(16 * 60);
		await eventually("today's are removed", async () => {
			const users = await world.redis.users();
			return names.every((name) => !users.includes(name));
		});
		assert.equal(await world.isThere(lasting.username), true);
		const removed = await events(world.client, world.admin, "type=lease.orphan");
		assert.equal(removed.filter(({ data }) => data.is_removed).length, 2);
	},
);
