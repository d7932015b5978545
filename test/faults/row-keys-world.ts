import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, fewAtOnce, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Key {
	readonly id: string;
	readonly purpose: string;
	readonly state: string;
}

/** Secrets, with as many versions: enough that a rotation takes a second. */
export const SECRETS = 1500;

/** A server with so many rows that the replacement of their key takes a while. */
export interface RowKeysWorld {
	readonly server: Server;
	readonly client: Api;
	/** The instance admin: a restored server needs another session. */
	admin: Person;
	/** An API token of the admin's, and the slug of the realm with the secrets. */
	readonly token: string;
	readonly slug: string;
	asAdmin(): { token: string };
	/** Begins to replace the key. @returns the id of the new one */
	rotate(): Promise<string>;
	/** Lists the ids of the keys for rows. */
	idsNow(): Promise<string[]>;
	/** Waits until the key before is destroyed. @param id of the new one */
	finished(id: string): Promise<void>;
	/** Fails unless everything that compares rows finds them sound. */
	assertSound(): Promise<void>;
}

/** Starts the server, and writes the secrets. */
export async function startRowKeysWorld(): Promise<RowKeysWorld> {
	const server = await startServer();
	const client = api(server);
	const admin = await person(client, "admin");
	const { token } = await apiToken(client, admin, "read,write,delete");
	const { slug } = await realm(client, admin);
	const keys = Array.from({ length: SECRETS }, (_, index) => `KEY_${index}`);
	await fewAtOnce(keys, (key) => secret(client, admin, slug, key, key, { environment: "prod" }));
	const world: RowKeysWorld = {
		...{ server, client, admin, token, slug },
		asAdmin: () => ({ token: world.admin.token }),
		rotate: async () => ok(await client.post<{ id: string }>("/keys/rotate", { purpose: "rows" }, world.asAdmin())).id,
		async idsNow() {
			const all = ok(await client.get<{ keys: Key[] }>("/keys", world.asAdmin())).keys;
			return all.filter(({ purpose }) => purpose === "rows").map(({ id }) => id);
		},
		finished: (id) => eventually("the key before is destroyed", async () => (await world.idsNow()).join() === id),
		assertSound: () => assertSound(world),
	};
	return world;
}

async function assertSound({ client, asAdmin }: RowKeysWorld): Promise<void> {
	const verified = ok(await client.get<{ status: string; differences: unknown[] }>("/audit/verify", asAdmin()));
	assert.deepEqual([verified.status, verified.differences], ["intact", []]);
	const { checks } = ok(await client.get<{ checks: Record<string, string>[] }>("/doctor?deep=true", asAdmin()));
	const about = checks.filter(({ name }) => name === "rows" || name === "rights");
	assert.deepEqual([about.length, about.filter(({ status }) => status !== "ok")], [2, []]);
	assert.equal(ok(await client.get<{ status: string }>("/health", asAdmin())).status, "healthy");
}

/** A connection to the stopped server's file, as a database tool has it. */
export function withFile<Found>(data: string, work: (database: DatabaseSync) => Found): Found {
	const database = new DatabaseSync(join(data, "svc.db"));
	try {
		return work(database);
	} finally {
		database.close();
	}
}

/** Counts the rows of some tables by the key that authenticates them. */
function countByKey(data: string): Map<string, number> {
	const tables = ["account", "session", "api_token", "realm", "secret", "secret_version"];
	const all = tables.map((table) => `SELECT hex(substr(mac, 1, 8)) AS id FROM ${table}`).join(" UNION ALL ");
	const counted = withFile(data, (database) =>
		database.prepare(`SELECT lower(id) AS id, count(*) AS count FROM (${all}) GROUP BY id`).all(),
	);
	return new Map(counted.map(({ id, count }) => [String(id), Number(count)]));
}

/** Tests a server that is killed in a rotation. @param moments of it, in milliseconds; the first waits until there are rows of both keys */
export function testKills(moments: readonly number[], world: () => RowKeysWorld): void {
	for (const [at, moment] of moments.entries())
		test(`a server that is killed ${moment} ms into a rotation continues with it at the next start`, async () => {
			const { server, rotate, finished, assertSound } = world();
			const id = await rotate();
			if (at === 0) await eventually("rows of both keys", async () => countByKey(server.data).size === 2);
			await delay(moment);
			await server.kill("SIGKILL");
			assert.ok(at > 0 || countByKey(server.data).size === 2, "it was in the middle");
			await server.restart();
			await assertSound();
			await finished(id);
			await assertSound();
			await server.stop();
			assert.deepEqual([...countByKey(server.data).keys()], [id]);
			await server.restart();
		});
}
