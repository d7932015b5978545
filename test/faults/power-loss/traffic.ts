import type { Api } from "../../harness/client.ts";
import { ok } from "../../harness/expect.ts";
import { secretPath } from "../../harness/fixtures.ts";
import type { Secret } from "../../harness/resources.ts";
import type { Owner } from "../owner.ts";

const CLIENTS = 4;
const TURNS = 12;

/** Every value written, by `KEY VERSION`. */
export type Written = Map<string, string>;

/**
 * Lets four clients write, overwrite, read and delete their own secrets in parallel until each has had its turns. Every
 * request leaves an event.
 */
export async function writeAndRead(api: Api, owner: Owner, written: Written): Promise<void> {
	const clients = Array.from({ length: CLIENTS }, (_, client) => client);
	await Promise.all(clients.map((client) => takeTurns(api, owner, `client-${client}`, written)));
}

async function takeTurns(api: Api, { slug, token }: Owner, client: string, written: Written): Promise<void> {
	for (let turn = 0; turn < TURNS; turn += 1) {
		const key = `${client}.${turn % 3}`;
		// Occasional long values make commits longer than a page.
		const value = `${key}, write ${written.size} `.repeat(turn % 4 === 3 ? 400 : 1);
		const { version } = ok(await api.post<Secret>(`/realms/${slug}/secrets`, { key, value }, { token }), 201);
		written.set(`${key} ${version}`, value);
		if (turn % 2 === 0) ok(await api.get(secretPath(slug, key), { token }));
		if (turn % 5 === 4) ok(await api.delete(secretPath(slug, key), { token }));
	}
}
