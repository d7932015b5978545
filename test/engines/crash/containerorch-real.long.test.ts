import assert from "node:assert/strict";
import { skipWithoutKubernetes, startKubernetes } from "../../peers/kubernetes.ts";
import { testRestores } from "./backups.ts";
import { ACCOUNTS, accountOf, BINDINGS, nameIn, orchestratorAt } from "./orchestrator.ts";
import { POINTS } from "./points.ts";
import { testCrashes } from "./suite.ts";
import type { Target } from "./target.ts";

/** Starts a real Kubernetes API server. Its failures cannot be steered, so the points are those at which the server kills itself. */
async function start(): Promise<Target> {
	const { request, url, ca, adminToken, stop } = await startKubernetes();
	const list = async (collection: string) => {
		const { items } = (await request("GET", collection)).body as { items: { metadata: { name: string } }[] };
		return items.map(({ metadata }) => `${collection}/${metadata.name}`);
	};
	const paths = async () => (await Promise.all([ACCOUNTS, BINDINGS].map(list))).flat();
	return {
		...orchestratorAt({ api_server: url, bearer_token: adminToken, ca_cert: ca }),
		names: async () => (await paths()).flatMap(nameIn),
		strike: async (fault) => assert.fail(`nobody can tell it: ${fault}`),
		revive: async (name) => void (await request("POST", ACCOUNTS, accountOf(name))),
		async remove(name) {
			for (const path of await paths()) if (nameIn(path).includes(name)) await request("DELETE", path);
		},
		stop,
	};
}

testCrashes({
	skip: skipWithoutKubernetes,
	start,
	points: POINTS.filter(({ id }) => ["C8", "C10", "C5"].includes(id)),
	thorough: "C5",
	also: [testRestores],
});
