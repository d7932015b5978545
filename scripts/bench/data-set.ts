/**
 * Data directories with many secrets. The server's own rules and store make them, so that every value is sealed and every write is
 * in the audit log; `.cache` keeps them until the schema or this file changes.
 */
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openKeyring } from "../../packages/server/src/crypto/keyring.ts";
import { loadMasterKey } from "../../packages/server/src/crypto/master-key.ts";
import type { Actor } from "../../packages/server/src/policy/model.ts";
import { createRealm } from "../../packages/server/src/realms/realms.ts";
import { setSecret } from "../../packages/server/src/secrets/secrets.ts";
import { openSqliteStore } from "../../packages/server/src/store/sqlite/store.ts";
import { type System, system } from "../../packages/server/src/system.ts";
import { createToken } from "../../packages/server/src/tokens/tokens.ts";

/** Size of a data set. Every realm has as many secrets. */
export interface DataSize {
	readonly realms: number;
	readonly secretsPerRealm: number;
}

/** A data directory with its secrets at `slugOf(0…)` and `keyOf(0…)`, in the default environment. */
export interface DataSet extends DataSize {
	readonly directory: string;
	/** Reads all of it. */
	readonly token: string;
	/** Seconds that making it took; 0 when it existed. */
	readonly madeInS: number;
}

const CACHE = fileURLToPath(new URL("../../.cache/bench/", import.meta.url));
const MIGRATIONS = fileURLToPath(new URL("../../packages/server/src/store/sqlite/migrations.ts", import.meta.url));

/** Realms filled in parallel: enough to keep every transaction of the writer full. */
const REALMS_AT_ONCE = 50;

const SESSION_MS = 60 * 60 * 1000;

/** Slug of a realm of a data set. */
export const slugOf = (realm: number | string): string => `realm-${realm}`;

/** Key of a secret of a data set. */
export const keyOf = (secret: number | string): string => `KEY_${secret}`;

/** The data set of this size, from the cache or newly made. */
export async function dataSet(size: DataSize): Promise<DataSet> {
	const version = hash("sha256", readFileSync(MIGRATIONS, "utf8") + readFileSync(import.meta.filename, "utf8")).slice(
		0,
		16,
	);
	dropOtherVersions(version);
	const folder = join(CACHE, version, `${size.realms}x${size.secretsPerRealm}`);
	const directory = join(folder, "data");
	const tokenFile = join(folder, "token");
	// The token is written last: without it the data is incomplete.
	if (existsSync(tokenFile)) return { ...size, directory, token: readFileSync(tokenFile, "utf8"), madeInS: 0 };
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const started = performance.now();
	const token = await fill(directory, size);
	writeFileSync(tokenFile, token, { mode: 0o600 });
	return { ...size, directory, token, madeInS: (performance.now() - started) / 1000 };
}

function dropOtherVersions(version: string): void {
	mkdirSync(CACHE, { recursive: true });
	for (const name of readdirSync(CACHE)) {
		if (name !== version) rmSync(join(CACHE, name), { recursive: true, force: true });
	}
}

/** Makes account, token, realms and secrets. Returns the token. */
async function fill(directory: string, { realms, secretsPerRealm }: DataSize): Promise<string> {
	const data = await openData(directory);
	const actor = await addOwner(data);
	const { token } = await createToken(data, actor, { name: "bench", scopes: ["read"] });
	for (let first = 0; first < realms; first += REALMS_AT_ONCE) {
		const some = Array.from({ length: Math.min(REALMS_AT_ONCE, realms - first) }, (_, at) => slugOf(first + at));
		await Promise.all(some.map((slug) => addRealm(data, actor, slug, secretsPerRealm)));
	}
	await data.store.close();
	return token;
}

/** Dependencies of the server's own rules on a data directory. */
type Data = Awaited<ReturnType<typeof openData>>;

/** Opens a data directory, a new one too, for the server's own rules. No server may run on it. @param clock the rules' time */
export async function openData(directory: string, clock: Pick<System, "now"> = system) {
	process.umask(0o077);
	const store = await openSqliteStore({
		directory,
		now: system.now(),
		onFailure: (error) => {
			throw error;
		},
	});
	const sources = {
		credentials_dir: undefined,
		master_key_file: undefined,
		data_dir: directory,
		master_key: undefined,
	};
	const { key } = await loadMasterKey(sources, await store.keys.fingerprint(), system);
	const { keys, guard } = store;
	const keyring = await openKeyring({ keys, master: key.reveal(), system, guard });
	const limits = { realm_bytes: Number.MAX_SAFE_INTEGER, realms_per_account: Number.MAX_SAFE_INTEGER };
	const at = { ...system, now: clock.now };
	return { store, system: at, keyring, enforce_expiry: false, hasRole: () => false, ...limits };
}

/** Makes the instance admin, who has no password. */
export async function addOwner({ store, system: { uuid, now } }: Data): Promise<Actor> {
	const user_id = uuid();
	const created_at = now().toISOString();
	const names = { email: "owner@example.test", name: "owner" };
	const account = { id: user_id, ...names, password: null, instance_admin: true, disabled_at: null, created_at };
	const event = {
		timestamp: created_at,
		type: "auth.register",
		actor: user_id,
		realm_id: "",
		realm: "",
		data: {},
	} as const;
	await store.accounts.register(account, event);
	// Only a signed-in user makes tokens.
	const expires_at = new Date(Date.parse(created_at) + SESSION_MS).toISOString();
	const session = { jti: "load", user_id, created_at, expires_at, provider: "" };
	await store.accounts.openSession({ session, password: null }, { ...event, type: "auth.login" });
	const unrestricted = { realm_id: null, environment: null, engines: null, expires_at: null };
	const request = {
		machine: undefined,
		payer: user_id,
		purpose: undefined,
		token_id: undefined,
		jti: "load",
		request_id: "load",
		ip: "127.0.0.1",
		grants: [],
	};
	return { user_id, ...names, instance_admin: true, scopes: ["read", "write", "delete"], ...unrestricted, ...request };
}

async function addRealm(needs: Data, actor: Actor, slug: string, secrets: number): Promise<void> {
	await createRealm(needs, actor, { slug, name: slug, description: "" });
	const written = Array.from({ length: secrets }, (_, at) =>
		setSecret(needs, { ...actor, grants: [] }, slug, {
			key: keyOf(at),
			value: `value ${at} of ${slug}`,
			environment: "dev",
			comment: "",
			expires_at: null,
			pre_encrypted: false,
		}),
	);
	await Promise.all(written);
}
