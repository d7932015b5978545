import { skipWithoutMongo, startMongo } from "../../peers/mongo.ts";
import { startProxy } from "../../peers/proxy.ts";
import { testRestores } from "./backups.ts";
import { coreRecovery, POINTS } from "./points.ts";
import { testRealmDeletion } from "./realm-deletion.ts";
import { strikeThrough } from "./strike.ts";
import { testCrashes } from "./suite.ts";
import type { Target } from "./target.ts";

/** Starts a MongoDB-wire server behind a proxy. */
async function start(): Promise<Target> {
	const mongo = await startMongo();
	const proxy = await startProxy(Number(mongo.address.split(":")[1]));
	// Without this option the driver connects to the address that the server reports, around the proxy.
	const connection_uri = `${mongo.uri.replace(mongo.address, proxy.address)}/?directConnection=true`;
	const remove = async (name: string) => void (await mongo.admin("admin", { dropUser: name }));
	const names = async () => (await mongo.users()).filter((name) => name.startsWith("svc_"));
	return {
		type: "documentdb",
		configuration: { connection_uri, database: "app" },
		params: { role: "read", database: "app", ttl: "24h" },
		isFenced: false,
		isLimited: true,
		recovery: coreRecovery("postpone"),
		revoking: (username) => ({ username }),
		names,
		strike: strikeThrough(proxy, { create: "createUser", remove: "dropUser" }, names),
		revive: async (name) => void (await mongo.admin("admin", { createUser: name, pwd: "revived", roles: [] })),
		remove,
		stop: async () => {
			await proxy.stop();
			await mongo.stop();
		},
	};
}

const FOREIGN = "somebody else's server is not reached through a proxy";
// biome-ignore lint/style/noProcessEnv: the tests have no configuration of their own
const skip = process.env.SVC_TEST_MONGODB_URI === undefined ? await skipWithoutMongo() : FOREIGN;

testCrashes({ skip, start, points: POINTS, thorough: "C4", also: [testRealmDeletion, testRestores] });
