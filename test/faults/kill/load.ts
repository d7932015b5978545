import { AssertionError } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Api } from "../../harness/client.ts";
import { secretPath } from "../../harness/fixtures.ts";
import type { Secret } from "../../harness/resources.ts";
import type { Owner } from "../owner.ts";
import type { Random } from "../random.ts";
import { deleted, newSlot, read, type Slot, wrote } from "./slot.ts";

const KEYS_PER_CLIENT = 4;

/** A client: the keys that only it writes. */
export type Client = readonly Slot[];

/** Makes the clients, each with its own keys. */
export function newClients(count: number): Client[] {
	return Array.from({ length: count }, (_, client) =>
		Array.from({ length: KEYS_PER_CLIENT }, (_, key) => newSlot(`client-${client}/key-${key}`)),
	);
}

/** Reads every key of the client and compares. Call it first after each start. */
export async function settle(api: Api, { slug, token }: Owner, client: Client): Promise<void> {
	for (const slot of client) read(slot, await api.get<Secret>(secretPath(slug, slot.key), { token }));
}

/**
 * Writes, reads and deletes one request after the other until the connection breaks.
 * @param isKilled tells whether the server was killed: only then may a request fail
 * @throws AssertionError when an answer contradicts an earlier one
 */
export async function loadUntilKilled(
	api: Api,
	owner: Owner,
	client: Client,
	random: Random,
	isKilled: () => boolean,
): Promise<void> {
	try {
		await settle(api, owner, client);
		while (!isKilled()) {
			const slot = client[random.below(client.length)];
			if (slot) await takeTurn(api, owner, slot, random);
		}
	} catch (error) {
		const isBrokenConnection = !(error instanceof AssertionError);
		if (!isKilled() || !isBrokenConnection) throw error;
	}
}

async function takeTurn(api: Api, { slug, token }: Owner, slot: Slot, random: Random): Promise<void> {
	const path = secretPath(slug, slot.key);
	const choice = random.below(10);
	if (choice < 3) {
		read(slot, await api.get<Secret>(path, { token }));
	} else if (choice === 3) {
		slot.doubt = { value: undefined };
		deleted(slot, await api.delete(path, { token }));
	} else {
		const value = randomUUID();
		slot.doubt = { value };
		wrote(slot, value, await api.post<Secret>(`/realms/${slug}/secrets`, { key: slot.key, value }, { token }));
	}
}
