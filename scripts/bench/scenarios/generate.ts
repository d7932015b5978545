import type { Ask } from "../exchange.ts";
import { configureKeyValue, startRedis } from "../redis.ts";
import type { Resident } from "../resident.ts";
import type { Scenario } from "../scenario.ts";
import { againstBare, type Kind } from "./against-bare.ts";

const CONNECTIONS = 16;

/** Credentials of engines. Each one of keyvalue is a user at a real Redis, between two durable transactions, and stays until the end. */
export const ENGINE_KINDS: readonly Kind[] = [
	{
		name: "kv-generate",
		title: "credential of keyvalue with its lease",
		atLeast: 0.035,
		connections: CONNECTIONS,
		async prepare({ url }, { token }) {
			const redis = await startRedis();
			await configureKeyValue(url, token, redis);
			return redis;
		},
		requests: (resident) => [generate(resident, "keyvalue", { role: "readonly", ttl: "1h" })],
	},
	{
		name: "pki-generate",
		title: "P-256 certificate",
		atLeast: 0.03,
		connections: CONNECTIONS,
		requests: (resident) => [
			generate(resident, "pki", { common_name: "app.example.test", san: ["app.example.test"], ttl: "24h" }),
		],
	},
];

/** Credentials of engines, over HTTP against a bare server that gives the same answer. */
export const GENERATE: readonly Scenario[] = ENGINE_KINDS.map((kind) => ({
	name: kind.name,
	title: `${kind.title}, HTTP, ${CONNECTIONS} connections`,
	run: () => againstBare(kind, "http"),
}));

function generate({ token, slug }: Resident, type: string, params: object): Ask {
	return { method: "POST", path: `/api/v1/realms/${slug}/engines/${type}/generate`, token, body: params };
}
