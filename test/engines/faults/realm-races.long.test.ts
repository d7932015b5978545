import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually, type Lease } from "../../harness/engine-world.ts";
import { ok, refused } from "../../harness/expect.ts";
import { realm } from "../../harness/fixtures.ts";
import { useKeyValueWorld } from "./keyvalue-world.ts";

const { options, world } = useKeyValueWorld("plain");

const nobodyIsLeft = () => eventually("no user is left", async () => (await world.redis.users()).length === 0);

const removeRealm = (slug: string) => world.client.delete(`/realms/${slug}`, { token: world.admin.token });

test("a realm that is deleted before the name was looked up gets no credential", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const held = world.proxy.hold("GETUSER");
	const answer = world.make({}, slug);
	await held.caught;
	ok(await removeRealm(slug));
	await held.release();
	refused(await answer, 404, "not_found");
	assert.equal(await world.openLeases(), 0);
	assert.deepEqual(await world.redis.users(), []);
});

test("a realm that is deleted while a credential is made does not get it", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const held = world.proxy.hold("SETUSER");
	const answer = world.make({}, slug);
	await held.caught;
	ok(await removeRealm(slug));
	await held.release();
	refused(await answer, 404, "not_found");
	await nobodyIsLeft();
	await eventually("its lease is closed", async () => (await world.openLeases()) === 0);
	const { leases } = ok(await world.client.get<{ leases: Lease[] }>("/leases?limit=1", { token: world.admin.token }));
	assert.equal(leases[0]?.realm, slug);
	assert.equal(leases[0]?.state, "revoked");
});

test("a realm that has the slug of a deleted one has none of its leases", options, async () => {
	const { slug } = await realm(world.client, world.admin);
	const { token } = world.admin;
	const { username, lease } = await world.made({}, slug);
	world.proxy.refuse();
	ok(await removeRealm(slug));
	ok(await world.client.post("/realms", { slug, name: "again" }, { token }), 201);
	assert.deepEqual(await world.leases(undefined, slug), []);
	refused(await world.client.get(`/realms/${slug}/leases/${lease.id}`, { token }), 404, "not_found");
	world.proxy.restore();
	refused(await world.validate("keyvalue", { username }, slug), 404, "not_found");
	await nobodyIsLeft();
	ok(await removeRealm(slug));
});

test(
	"however deletions and creations of one slug meet, no credential of a deleted realm lives on",
	options,
	async () => {
		const { slug } = await realm(world.client, world.admin);
		const { token } = world.admin;
		for (let round = 0; round < 15; round++) {
			const making = Array.from({ length: 4 }, () => world.make({}, slug));
			await sleep(round * 2);
			const [removed, again] = await Promise.all([
				removeRealm(slug),
				world.client.post("/realms", { slug, name: "again" }, { token }),
				...making,
			]);
			ok(removed);
			for (const { status } of await Promise.all(making)) assert.ok([200, 404].includes(status), `${status}`);
			if (again.status === 409) ok(await world.client.post("/realms", { slug, name: "again" }, { token }), 201);
			ok(await removeRealm(slug));
			ok(await world.client.post("/realms", { slug, name: "again" }, { token }), 201);
		}
		await nobodyIsLeft();
		await eventually("every lease is closed", async () => (await world.openLeases()) === 0);
	},
);

test("a revocation at the moment of the end has the same answer, and each end is one event", options, async () => {
	const made = await Promise.all(Array.from({ length: 40 }, () => world.made({ ttl: "1s" })));
	const end = Math.max(...made.map(({ expires_at }) => Date.parse(expires_at)));
	const asked = made.map(async ({ username }, at) => {
		await sleep(Math.max(0, end - Date.now() - 400 + at * 30));
		const tries = [1, 2, 3].map(() => world.validate("keyvalue", { username }));
		for (const answer of await Promise.all(tries)) {
			assert.deepEqual(ok(answer), { valid: true, message: `credentials revoked: user ${username} deleted` });
		}
	});
	await Promise.all(asked);
	await nobodyIsLeft();
	for (const { username, lease } of made) {
		await world.until(lease.id, "revoked");
		const story = (await world.history(username)).map(({ type }) => type);
		const ends = story.filter((type) => type.startsWith("lease."));
		assert.deepEqual(ends, ["lease.created", "lease.revoking", "lease.revoked"]);
	}
});
