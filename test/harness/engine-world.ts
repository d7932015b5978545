import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Server, type ServerOptions, startServer } from "../harness.ts";
import { type Answer, type Api, api } from "./client.ts";
import { ok } from "./expect.ts";
import { type Person, person, realm } from "./fixtures.ts";

/** Longer than a slow machine needs, and shorter than the minute after which the server asks a blocked target of its own accord. */
const PATIENCE_S = 50;

/** A lease as `GET /realms/{slug}/leases/{id}` shows it. Design: §7.1 */
export interface Lease {
	readonly id: string;
	readonly engine: string;
	/** Slug. */
	readonly realm: string;
	readonly role: string;
	/** User or service account; empty when the engine does not say. */
	readonly name: string;
	readonly state: string;
	readonly expires_at: string;
	readonly attempts: number;
	readonly last_error: string;
}

/** How an engine is, as anybody may see. */
export interface EngineState {
	readonly type: string;
	readonly status: string;
	readonly breaker: string;
	readonly refused_realms: number;
	readonly processes: number;
	/** Why it cannot be used; empty when it can. */
	readonly message: string;
}

/** What health says of engines, targets and leases. Design: §9 */
export interface Details {
	readonly engines: readonly EngineState[];
	readonly targets: readonly { readonly target: string; readonly status: string; readonly since: string }[];
	readonly leases: {
		readonly open: Readonly<Record<string, number>>;
		readonly overdue: number;
		readonly stuck: number;
		readonly oldest_overdue_seconds: number;
		readonly paused: boolean;
	};
	readonly clock: string;
}

/** A server with an instance admin who owns a realm, and what tests of engines ask of it. */
export interface EngineWorld {
	readonly server: Server;
	readonly client: Api;
	readonly admin: Person;
	/** The admin's realm. */
	readonly slug: string;
	/** Configures an engine for every realm, or for those that the fields name, or for one; answers the configuration and what a ping says. */
	configure(
		type: string,
		fields: object,
		where?: string,
	): Promise<Answer<{ status: string; [field: string]: unknown }>>;
	/** Asks an engine for a credential, as the admin. */
	generate<T>(type: string, params: object, where?: string): Promise<Answer<T>>;
	/** Asks an engine to validate, as the admin; for a credential that is to revoke it. */
	validate<T = { valid: boolean; message: string }>(type: string, params: object, where?: string): Promise<Answer<T>>;
	/** The lease of the credential in that answer. */
	leaseOf(answer: Answer, where?: string): Promise<Lease>;
	/** All leases of a realm that are in the state; of all states when none is named. */
	leases(state?: string, where?: string): Promise<Lease[]>;
	/** What health says. */
	details(): Promise<Details>;
	close(): Promise<void>;
}

/** Starts one, and ends it again when that fails. Costs two password hashes. */
export async function startEngineWorld(options: ServerOptions = {}): Promise<EngineWorld> {
	const server = await startServer(options);
	try {
		return await settleIn(server);
	} catch (error) {
		await server.close();
		throw error;
	}
}

async function settleIn(server: Server): Promise<EngineWorld> {
	const client = api(server);
	const admin = await person(client, "admin");
	const { slug } = await realm(client, admin);
	const { token } = admin;
	return {
		server,
		client,
		admin,
		slug,
		configure: (type, fields, where) => {
			const path = `${where === undefined ? "" : `/realms/${where}`}/engines/${type}/config`;
			const all = where === undefined ? { allowed_realms: ["*"], ...fields } : fields;
			return client.send("PUT", `/api/v1${path}`, { token, raw: JSON.stringify(all) });
		},
		generate: (type, params, where = slug) =>
			client.post(`/realms/${where}/engines/${type}/generate`, params, { token }),
		validate: (type, params, where = slug) =>
			client.post(`/realms/${where}/engines/${type}/validate`, params, { token }),
		leaseOf: async (answer, where = slug) =>
			ok(await client.get<Lease>(`/realms/${where}/leases/${String(answer.headers["x-lease-id"])}`, { token })),
		leases: async (state, where = slug) => {
			const query = `limit=100${state === undefined ? "" : `&state=${state}`}`;
			return ok(await client.get<{ leases: Lease[] }>(`/realms/${where}/leases?${query}`, { token })).leases;
		},
		details: async () => ok(await client.get<{ details: Details }>("/health")).details,
		close: () => server.close(),
	};
}

/** Waits for something that has to happen soon. @param seconds how soon at the latest, where that is no proof of speed */
export async function eventually(
	what: string,
	holds: () => Promise<boolean> | boolean,
	seconds = PATIENCE_S,
): Promise<void> {
	const end = performance.now() + seconds * 1000;
	while (!(await holds())) {
		assert.ok(performance.now() < end, `within ${seconds} s: ${what}`);
		await sleep(50);
	}
}
