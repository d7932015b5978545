import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installHostile } from "../engines/hostile/hostile-engines.ts";
import { type Run, runServer } from "../faults/process.ts";
import { api } from "../harness/client.ts";
import { enter } from "../harness/console.ts";
import { apiToken, person, realm, secret } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";
import type { Target } from "./attack.ts";
import { FLOODING } from "./attacks/engine.ts";

/** Number of secrets in the realm that the attacker has filled, and the value of each: every character takes six in JSON. */
const SECRETS = 300;
const VALUE = "\u0001".repeat(170_000);

/** A request that an ordinary client may make. */
export interface Asked {
	readonly path: string;
	readonly token: string;
}

/** The data of every server of a siege, in a folder that is copied for each. */
export interface Scene {
	/** Attackers' knowledge, the same for every server. */
	readonly known: Pick<Target, "token" | "session" | "cookie" | "slug" | "key" | "admin">;
	/** An ordinary client's request: for a secret, or for what the log says of its realm. */
	readonly asked: Asked;
	readonly askedOfLog: Asked;
	/** Starts a new server on a copy. */
	start(): Promise<Besieged>;
	remove(): Promise<void>;
}

/** A server under attack. */
export interface Besieged {
	readonly run: Run;
	readonly pid: number;
	readonly port: number;
	readonly data: string;
	/** Removes its data after it has ended. */
	remove(): Promise<void>;
}

/** The size of the scene. */
export interface SceneOptions {
	/** The part of the largest realm to fill. */
	readonly strength: number;
	/** Events of the audit log, in addition to the few from the preparation. */
	readonly events: number;
}

/** Prepares the scene through a server's own requests. */
export async function prepareScene({ strength, events }: SceneOptions): Promise<Scene> {
	const folder = await mkdtemp(join(tmpdir(), "svc-siege-"));
	const plugins = join(folder, "engines");
	await mkdir(plugins, { mode: 0o700 });
	await installHostile(plugins, { [FLOODING]: "hostile/endless-stderr.mjs" });
	const server = await startServer();
	try {
		const client = api(server);
		const [root, alice, mallory] = [
			await person(client, "root"),
			await person(client, "alice"),
			await person(client, "mallory"),
		];
		const scopes = "read,write,delete";
		const [admin, asker, attacker] = [
			await apiToken(client, root, scopes),
			await apiToken(client, alice, scopes),
			await apiToken(client, mallory, scopes),
		];
		const [app, large] = [await realm(client, alice, "app"), await realm(client, mallory, "large")];
		await secret(client, alice, app.slug, "DATABASE_URL", "postgres://app:f3Jq8@db.internal:5432/app");
		await secret(client, mallory, large.slug, "SMALL", "a small value");
		for (let at = 0; at < SECRETS * strength; at++) await secret(client, mallory, large.slug, `LARGE_${at}`, VALUE);
		const small = `/realms/${large.slug}/secrets/SMALL`;
		const reading = Array.from({ length: 16 }, async (_, lane) => {
			for (let at = lane; at < events; at += 16) await client.get(small, { token: attacker.token });
		});
		await Promise.all(reading);
		const { cookie } = await enter(server, mallory);
		await server.stop();
		await cp(server.data, join(folder, "data"), { recursive: true });
		const known = {
			token: attacker.token,
			session: mallory.token,
			cookie,
			slug: large.slug,
			key: "SMALL",
			admin: admin.token,
		};
		return {
			known,
			asked: { path: `/api/v1/realms/${app.slug}/secrets/DATABASE_URL`, token: asker.token },
			askedOfLog: { path: `/api/v1/audit/events?realm=${app.slug}&limit=10`, token: asker.token },
			start: () => start(folder),
			remove: () => rm(folder, { recursive: true, force: true }),
		};
	} finally {
		await server.close();
	}
}

async function start(folder: string): Promise<Besieged> {
	const data = await mkdtemp(join(folder, "server-"));
	await cp(join(folder, "data"), data, { recursive: true });
	const env = { SVC_TLS_MODE: "self-signed", SVC_PLUGINS_DIR: join(folder, "engines") };
	const run = await runServer({ data, env });
	const remove = () => rm(data, { recursive: true, force: true });
	return { run, pid: run.pid, port: Number(new URL(run.url).port), data, remove };
}
