import { startProxy } from "../../peers/proxy.ts";
import { skipWithoutRedis, startRedis } from "../../peers/redis.ts";
import { testRestores } from "./backups.ts";
import { coreRecovery, POINTS } from "./points.ts";
import { testRealmDeletion } from "./realm-deletion.ts";
import { strikeThrough } from "./strike.ts";
import { testCrashes } from "./suite.ts";
import type { Target } from "./target.ts";

/** Starts a real Redis behind a proxy. C15 needs two leases, no test needs more: leases left open by crashes leave no room for the next ones. */
async function start(): Promise<Target> {
	const redis = await startRedis();
	const proxy = await startProxy(redis.port);
	return {
		type: "keyvalue",
		configuration: { address: proxy.address, password: redis.password, max_connections: 2 },
		params: { role: "readonly", ttl: "24h" },
		isFenced: true,
		isLimited: true,
		recovery: coreRecovery("settle"),
		revoking: (username) => ({ username }),
		names: redis.users,
		strike: strikeThrough(proxy, { create: "SETUSER", remove: "DELUSER" }, redis.users),
		revive: async (name) => void (await redis.admin("ACL", "SETUSER", name, "on", ">revived", "~*", "+get")),
		remove: async (name) => void (await redis.admin("ACL", "DELUSER", name)),
		stop: async () => {
			await proxy.stop();
			await redis.stop();
		},
	};
}

testCrashes({ skip: skipWithoutRedis, start, points: POINTS, thorough: "C4", also: [testRealmDeletion, testRestores] });
