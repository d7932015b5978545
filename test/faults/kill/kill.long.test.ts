import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pass } from "node:timers/promises";
import { type Api, api } from "../../harness/client.ts";
import { ok } from "../../harness/expect.ts";
import { type Server, startServer } from "../../harness.ts";
import { newOwner, type Owner } from "../owner.ts";
import { killedStart } from "../process.ts";
import { type Random, seededRandom } from "../random.ts";
import { faultSettings } from "../settings.ts";
import { type Client, loadUntilKilled, newClients, settle } from "./load.ts";
import { assertDatabaseKeeps } from "./verification.ts";

const CLIENTS = 8;
/** The longest life under load, in milliseconds; twice as long after all kills, while a slow machine has not yet written every key. */
const LONGEST_LIFE_MS = 400;
/** The longest life of a start that is killed before it ends, in milliseconds: it covers the whole start. */
const LONGEST_START_MS = 700;
const KILLS_PER_VERIFICATION = 20;
const KILLS_PER_KILLED_START = 8;

const { seed, kills } = faultSettings();

test(`everything answered survives ${kills} kills at random moments under load`, async (t) => {
	t.diagnostic(`seed ${seed}`);
	const random = seededRandom(seed);
	const server = await startServer();
	t.after(() => server.close());
	const owner = await newOwner(api(server));
	const clients = newClients(CLIENTS);
	const areWritten = () => clients.flat().every((slot) => slot.written.length > 0);
	for (let [kill, longestMs] = [1, LONGEST_LIFE_MS]; kill <= kills || !areWritten(); kill += 1) {
		if (kill > kills) longestMs *= 2;
		await killUnderLoad(server, owner, clients, random, random.below(longestMs));
		if (kill % KILLS_PER_KILLED_START === 0) await killedStart({ data: server.data }, random.below(LONGEST_START_MS));
		await server.restart();
		if (kill % KILLS_PER_VERIFICATION === 0) await verify(server, owner, clients);
	}
	await verify(server, owner, clients);
});

async function killUnderLoad(
	server: Server,
	owner: Owner,
	clients: Client[],
	random: Random,
	lifeMs: number,
): Promise<void> {
	let isKilled = false;
	// The address in this life, which stays readable afterwards.
	const life = { ...server };
	const loads = clients.map((client) => loadUntilKilled(api(life), owner, client, random, () => isKilled));
	const moment = pass(lifeMs).then(async () => {
		isKilled = true;
		await server.kill("SIGKILL");
	});
	await Promise.all([...loads, moment]);
}

async function verify(server: Server, owner: Owner, clients: Client[]): Promise<void> {
	const client = api(server);
	await Promise.all(clients.map((slots) => settle(client, owner, slots)));
	await assertChainIntact(client, owner);
	await server.kill("SIGKILL");
	assertDatabaseKeeps(server.data, clients.flat());
	await server.restart();
}

async function assertChainIntact(client: Api, { admin }: Owner): Promise<void> {
	const { status } = ok(await client.get<{ status: string }>("/audit/verify", { token: admin.token }));
	assert.equal(status, "intact");
}
