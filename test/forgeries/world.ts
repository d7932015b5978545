import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BLOCK } from "../../packages/server/src/store/sqlite/audit-blocks.ts";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { apiToken, bind, invitation, type Person, realm, secret, secretPath, unique } from "../harness/fixtures.ts";
import { startOidcProvider } from "../peers/oidc.ts";
import { type Redis, startRedis } from "../peers/redis.ts";
import { type OidcWorld, startOidcWorld } from "../sso/oidc-world.ts";
import { type Codes, endCodes, makeCodes } from "./codes.ts";
import { endMachines, type Machines, makeMachines } from "./machines.ts";
import { addOfflineRows } from "./offline-rows.ts";

/** The data of a stopped server at two times, and what people and machines know. */
export interface ForgedWorld {
	/** Folder that tests make their copies in. */
	readonly root: string;
	/** Data directory before the end of what the log says has ended. */
	readonly before: string;
	/** The same directory afterwards: the one that is altered. */
	readonly honest: string;
	readonly people: Readonly<Record<Name, Person>>;
	/** Slugs of two realms of `owner`, and of one of `mallory`. */
	readonly slug: string;
	readonly other: string;
	readonly mallorys: string;
	/** A token that only reads one environment, and the tokens that ended. */
	readonly operator: string;
	readonly ended: readonly string[];
	/** Password of `changer` before. */
	readonly old_password: string;
	readonly codes: Codes;
	readonly machines: Machines;
	readonly lease: Credential;
	readonly redis: Redis;
	close(): Promise<void>;
}

/** The id of a lease, and the user that it made. */
interface Credential {
	readonly id: string;
	readonly username: string;
}

const NEWCOMERS = [
	...["owner", "viewer", "ex", "changer", "disabled"],
	...["factored", "unfactored", "holder", "mallory"],
] as const;

type Name = "root" | (typeof NEWCOMERS)[number];

/** Values that operators read: by environment and key. */
export const VALUES = {
	dev: { FIRST: "first value", SECOND: "second value, newer" },
	prod: { FIRST: "first value of prod" },
} as const;

/** Makes the world through the real server, once. */
export async function createForgedWorld(): Promise<ForgedWorld> {
	const ends = new AsyncDisposableStack();
	const root = mkdtempSync(join(tmpdir(), "svc-forgeries-"));
	ends.defer(() => rmSync(root, { recursive: true }));
	const redis = await startRedis();
	ends.defer(redis.stop);
	const sso = await startOidcWorld();
	ends.defer(sso.close);
	const made = await fill(sso, redis, ends);
	const [before, honest] = [join(root, "before"), join(root, "honest")];
	await sso.server.stop();
	await addOfflineRows(sso.server.data, made.people.holder.id);
	spawnSync("cp", ["-a", sso.server.data, before]);
	await sso.server.restart();
	await finish(sso, made);
	await sso.server.stop();
	spawnSync("cp", ["-a", sso.server.data, honest]);
	return { ...made, root, before, honest, redis, close: () => ends.disposeAsync() };
}

type Made = Awaited<ReturnType<typeof fill>>;

async function newcomer({ client }: OidcWorld, name: string): Promise<Person> {
	const [email, password] = [`${unique(name)}@example.test`, `the password of ${name}`];
	const { id } = ok(await client.post<{ id: string }>("/auth/register", { email, password, name }), 201);
	const { token } = ok(await client.post<{ token: string }>("/auth/login", { email, password }));
	return { id, email, password, token };
}

async function fill(sso: OidcWorld, redis: Redis, ends: AsyncDisposableStack) {
	const { client } = sso;
	const people = { root: sso.root } as Record<Name, Person>;
	for (const name of NEWCOMERS) people[name] = await newcomer(sso, name);
	const { owner, viewer, ex, mallory, changer, disabled } = people;
	const [{ slug }, { slug: other }] = [await realm(client, owner), await realm(client, owner)];
	const { slug: mallorys } = await realm(client, mallory);
	await writeSecrets(sso, owner, slug, other);
	await secret(client, mallory, mallorys, "FIRST", "value of mallory");
	await readOften(sso, owner, slug);
	for (const who of [viewer, ex, changer, disabled])
		await bind(client, owner, slug, who, who === changer ? "member" : "viewer");
	await bind(client, owner, other, changer, "admin");
	await bind(client, changer, other, viewer, "viewer");
	await invitation(client, changer, { bindings: [{ realm: other, role: "viewer" }] });
	const operator = await apiToken(client, owner, "read", { realm: slug, environment: "dev" });
	const revoked = await apiToken(client, owner, "read,write");
	const made = ok(
		await client.post<{ token: string }>(
			"/auth/tokens",
			{ name: "made", scopes: "read", realm: slug },
			{ token: revoked.token },
		),
		201,
	);
	await apiToken(client, viewer, "read,write", { expires_at: "2050-01-01T00:00:00.000Z" });
	for (const [index, { id }] of [mallory, viewer].entries()) {
		const raw = JSON.stringify({ realm_bytes: 1_000_000 + index, realms: 3 + index });
		ok(await client.send("PUT", `/api/v1/users/${id}/limits`, { token: sso.root.token, raw }));
	}
	await signIn(sso, ends);
	const [lease, ended_lease] = await makeLeases(sso, redis, owner, slug);
	const ended_session = ok(
		await client.post<{ token: string }>("/auth/login", { email: owner.email, password: owner.password }),
	).token;
	return {
		people,
		slug,
		other,
		mallorys,
		operator: operator.token,
		revoked_id: revoked.id,
		ended_session,
		ended: [revoked.token, made.token, ended_session, disabled.token],
		old_password: changer.password,
		codes: await makeCodes(client, people, [slug, other]),
		machines: await makeMachines(client, owner, [slug, other]),
		lease,
		ended_lease,
	};
}

async function writeSecrets({ client }: OidcWorld, owner: Person, slug: string, other: string): Promise<void> {
	await secret(client, owner, slug, "FIRST", VALUES.dev.FIRST);
	await secret(client, owner, slug, "FIRST", VALUES.prod.FIRST, { environment: "prod" });
	await secret(client, owner, slug, "SECOND", "second value");
	await secret(client, owner, slug, "DELETED", "deleted value");
	for (const value of ["deleted value", "deleted value, newer"])
		await secret(client, owner, other, "ALSO_DELETED", value, { environment: "prod" });
	await secret(client, owner, other, "FIRST", "value of another realm");
	ok(await client.get(`/eso/${slug}?env=dev`, { token: owner.token }));
}

/** Reads a secret until the log has another block of events that are found by their terms. */
async function readOften({ client }: OidcWorld, owner: Person, slug: string): Promise<void> {
	for (let read = 0; read < BLOCK; read++)
		ok(await client.get(`${secretPath(slug, "FIRST")}?env=dev`, { token: owner.token }));
}

/** Signs somebody in at each of two providers. */
async function signIn(sso: OidcWorld, ends: AsyncDisposableStack): Promise<void> {
	const of = (name: string) => ({ email: `${name}@corp.test`, email_verified: true, name });
	const people = { alice: of("alice"), bob: of("bob") };
	for (const [name, person] of [
		["corp", "alice"],
		["partner", "bob"],
	] as const) {
		const provider = await startOidcProvider({ redirect_uris: [sso.redirectUri(name)], people });
		ends.defer(provider.stop);
		provider.person = person;
		await sso.set(name, provider);
		ok(await sso.signIn(name));
	}
}

/** Configures Redis, and makes two credentials in it. */
async function makeLeases({ client, root }: OidcWorld, redis: Redis, owner: Person, slug: string) {
	const configured = { address: redis.address, password: redis.password, allowed_realms: ["*"] };
	const raw = JSON.stringify(configured);
	ok(await client.send("PUT", "/api/v1/engines/keyvalue/config", { token: root.token, raw }));
	const made = [];
	for (const ttl of ["1h", "2h"]) {
		const path = `/realms/${slug}/engines/keyvalue/generate`;
		const answer = await client.post<{ username: string }>(path, { role: "readonly", ttl }, { token: owner.token });
		made.push({ id: String(answer.headers["x-lease-id"]), username: ok(answer).username });
	}
	return made as [Credential, Credential];
}

/** Ends what the log says has ended, and replaces what has a newer version. */
async function finish(sso: OidcWorld, made: Made): Promise<void> {
	const client = api(sso.server);
	const { owner, ex, changer, disabled } = made.people;
	ok(await client.delete(`/auth/tokens/${made.revoked_id}`, { token: owner.token }));
	ok(await client.post("/auth/logout", {}, { token: made.ended_session }));
	ok(await client.delete(`/realms/${made.slug}/policy/bindings/${ex.id}`, { token: owner.token }));
	const passwords = { current_password: made.old_password, new_password: "a new password of changer" };
	ok(await client.post("/auth/password", passwords, { token: changer.token }));
	ok(await client.post(`/users/${disabled.id}/disable`, {}, { token: made.people.root.token }));
	await secret(client, owner, made.slug, "SECOND", VALUES.dev.SECOND);
	ok(await client.delete(`/realms/${made.slug}/leases/${made.ended_lease.id}`, { token: owner.token }));
	ok(await client.delete(`${secretPath(made.slug, "DELETED")}?env=dev`, { token: owner.token }));
	ok(await client.delete(`${secretPath(made.other, "ALSO_DELETED")}?env=prod`, { token: owner.token }));
	await endCodes(client, made.people, made.codes);
	await endMachines(client, owner, made.machines);
	await readOften(sso, owner, made.slug);
	ok(await client.get(`/eso/${made.slug}?env=dev`, { token: owner.token }));
}
