import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Server, type ServerOptions, startServer } from "../harness.ts";
import { type Answer, type Api, api } from "./client.ts";
import { ok } from "./expect.ts";
import { type Person, person, realm } from "./fixtures.ts";

/** Longer than a slow machine needs, and shorter than the minute after which the server itself asks a blocked target again. */
const PATIENCE_S = 50;

/** A lease as `GET /realms/{slug}/leases/{id}` shows it. Design: §7.1 */
export interface Lease {
	readonly id: string;
	readonly engine: string;
	/** Slug of the realm. */
	readonly realm: string;
	readonly role: string;
	/** User or service account; empty when the engine does not name one. */
	readonly name: string;
	readonly state: string;
	readonly expires_at: string;
	readonly attempts: number;
	readonly last_error: string;
}

/** An engine's public state. */
export interface EngineState {
	readonly type: string;
	readonly status: string;
	readonly breaker: string;
	readonly refused_realms: number;
	readonly processes: number;
	/** The reason why it cannot be used; empty when it can. */
	readonly message: string;
}

/** Health's report on engines, targets and leases. Design: §9 */
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

/** A server with an instance admin who owns a realm, and methods for tests of engines. */
export interface EngineWorld {
	readonly server: Server;
	readonly client: Api;
	readonly admin: Person;
	/** The admin's realm. */
	readonly slug: string;
	/** Configures an engine for every realm, for those in the fields, or for one; returns the configuration and the status of a ping. */
	configure(
		type: string,
		fields: object,
		where?: string,
	): Promise<Answer<{ status: string; [field: string]: unknown }>>;
	/** Asks an engine for a credential, as the admin. */
	generate<T>(type: string, params: object, where?: string): Promise<Answer<T>>;
	/** Asks an engine to validate, as the admin; for a credential this revokes it. */
	validate<T = { valid: boolean; message: string }>(type: string, params: object, where?: string): Promise<Answer<T>>;
	/** Returns the lease of the credential in that answer. */
	leaseOf(answer: Answer, where?: string): Promise<Lease>;
	/** Returns all leases of a realm in the state, or in any state. */
	leases(state?: string, where?: string): Promise<Lease[]>;
	/** Returns health's report. */
	details(): Promise<Details>;
	close(): Promise<void>;
}

/** Starts a world, and stops it when that fails. Costs two password hashes. */
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

/** Waits for something that must happen soon. @param seconds the limit, where it does not test speed */
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
