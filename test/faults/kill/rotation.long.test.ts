/* Clients read and write while keys are replaced, and the server is killed in the middle of it. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextTurn, setTimeout as pass } from "node:timers/promises";
import { type Api, api } from "../../harness/client.ts";
import { ok } from "../../harness/expect.ts";
import { startServer } from "../../harness.ts";
import { newOwner } from "../owner.ts";
import { seededRandom } from "../random.ts";
import { faultSettings } from "../settings.ts";
import { loadUntilKilled, newClients, settle } from "./load.ts";

const CLIENTS = 4;
const REALMS = 20;
const LIVES = 6;
/** The longest life under load, in milliseconds: about twenty rotations. Extra lives that a slow machine needs may each be twice as long. */
const LONGEST_LIFE_MS = 600;
const PATIENCE_MS = 120_000;

const { seed } = faultSettings();

test("whatever moment of a rotation the server is killed at, everything is readable afterwards", async (t) => {
	t.diagnostic(`seed ${seed}`);
	const random = seededRandom(seed);
	const server = await startServer();
	t.after(() => server.close());
	const owner = await newOwner(api(server));
	const { token, slug } = owner;
	for (let realm = 0; realm < REALMS; realm += 1)
		ok(await api(server).post("/realms", { slug: `more-${realm}`, name: "more" }, { token }), 201);
	const kinds = ["master", "record", "portable", "session", "checkpoint"].map((purpose) => ({ purpose }));
	const bodies = [...kinds, { purpose: "record", realm: slug }];
	const clients = newClients(CLIENTS);
	let rotations = 0;
	for (let [life, longestMs] = [0, LONGEST_LIFE_MS]; life < LIVES || rotations <= LIVES; life += 1) {
		if (life >= LIVES) longestMs *= 2;
		let isKilled = false;
		const client = api({ ...server });
		const loads = clients.map((slots) => loadUntilKilled(client, owner, slots, random, () => isKilled));
		const rotating = rotateUntilKilled(
			client,
			token,
			() => bodies[random.below(bodies.length)],
			() => isKilled,
		);
		await pass(random.below(longestMs));
		if (life % 2 === 1) await nextKeyLies(server.data);
		isKilled = true;
		await server.kill("SIGKILL");
		rotations += await rotating;
		await Promise.all(loads);
		await server.restart();
		for (const slots of clients) await settle(api(server), owner, slots);
		ok(await api(server).get("/realms", { token: owner.admin.token }));
	}
	const verified = ok(await api(server).get<{ status: string }>("/audit/verify", { token }));
	assert.equal(verified.status, "intact");
});

/** Waits until the next master key lies next to the one in use: at that moment it is open which of them is valid. */
async function nextKeyLies(data: string): Promise<void> {
	const end = Date.now() + PATIENCE_MS;
	while (!existsSync(join(data, "master.key.next"))) {
		assert.ok(Date.now() < end, "no master key is being replaced");
		await nextTurn();
	}
}

/** Rotates one key after the other until the connection breaks. @returns the number of answers */
async function rotateUntilKilled(
	client: Api,
	token: string,
	next: () => object | undefined,
	isKilled: () => boolean,
): Promise<number> {
	for (let answered = 0; ; answered += 1) {
		try {
			ok(await client.post("/keys/rotate", next(), { token }));
		} catch (error) {
			if (!isKilled() || error instanceof assert.AssertionError) throw error;
			return answered;
		}
	}
}
