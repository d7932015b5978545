/* The rights that the page of the engines lists are enough, exactly as listed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { skipWithoutRedis, startRedis } from "../peers/redis.ts";

const PAGE = new URL("../../docs/engines.md", import.meta.url);

test("the store's administrator needs the rights that the page names, and no others", {
	skip: skipWithoutRedis,
}, async (t) => {
	const redis = await startRedis({ aclfile: true });
	t.after(() => redis.stop());
	const world = await startEngineWorld();
	t.after(() => world.close());
	const [, rights = "", more = ""] =
		/needs `(\+acl[^`]*)`, and `([^`]*)` with `acl_save`/.exec(readFileSync(PAGE, "utf8")) ?? [];
	const password = "only-what-it-needs";
	await redis.admin("ACL", "SETUSER", "svc-admin", "on", `>${password}`, ...rights.split(" "), more);
	const fields = { address: redis.address, username: "svc-admin", password, acl_save: true };
	assert.equal(ok(await world.configure("keyvalue", fields)).status, "healthy");
	const { username } = ok(await world.generate<{ username: string }>("keyvalue", { role: "admin" }));
	ok(await world.validate("keyvalue", { username }));
	assert.equal((await redis.users()).includes(username), false);
	const log = await redis.admin("ACL", "LOG");
	assert.deepEqual(log, [], "nothing was refused");
});
