import type { Answer, Api } from "./client.ts";
import { ok } from "./expect.ts";
import type { ApiToken, Binding, Invitation, Login, Machine, MachineToken, Realm, Secret, User } from "./resources.ts";

/** The default password of every person. */
export const PASSWORD = "a password for tests only";

/** Somebody with an account and an open session. */
export interface Person {
	readonly id: string;
	readonly email: string;
	readonly password: string;
	/** Session token of the login that made this record. */
	readonly token: string;
}

let counter = 0;

/** Returns a name that no other test of this file has: lower case, usable as slug, key and local part of an e-mail. */
export function unique(stem: string): string {
	counter += 1;
	return `${stem}-${counter}`;
}

/** Registers and logs in. The first person of a server is its instance admin. Costs two password hashes. */
export async function person(api: Api, name: string): Promise<Person> {
	const email = `${unique(name)}@example.test`;
	const { id } = ok(await api.post<User>("/auth/register", { email, password: PASSWORD, name }), 201);
	const account = { id, email, password: PASSWORD };
	return { ...account, token: await login(api, account) };
}

/** Opens another session and returns its token. */
export async function login(api: Api, who: Pick<Person, "email" | "password">): Promise<string> {
	const body = { email: who.email, password: who.password };
	return ok(await api.post<Login>("/auth/login", body)).token;
}

/** Keeps a session of each account: a login hashes a password. @returns a function that finds one that has not ended, or opens another */
export function keepSessions(api: Api): (who: Person) => Promise<string> {
	const sessions = new Map<string, string>();
	return async (who) => {
		const kept = sessions.get(who.id);
		if (kept !== undefined && (await api.get("/auth/whoami", { token: kept })).status === 200) return kept;
		const made = await login(api, who);
		sessions.set(who.id, made);
		return made;
	};
}

/** Returns the id of the session that a token is of. */
export function sessionId(token: string): string {
	return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).jti;
}

/** Runs work for each item, four at once: only four password checks of one source may wait. Returns the results in the order of the items. */
export async function fewAtOnce<Item, Result>(
	items: readonly Item[],
	work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
	const results: Result[] = [];
	const left = items.entries();
	const worker = async () => {
		for (const [index, item] of left) results[index] = await work(item);
	};
	await Promise.all(Array.from({ length: 4 }, worker));
	return results;
}

/** Creates an API token of the person. `limits` are the optional restrictions. */
export async function apiToken(
	api: Api,
	who: Person,
	scopes: string | undefined,
	limits: object = {},
): Promise<ApiToken> {
	const body = { name: unique("token"), scopes, ...limits };
	return ok(await api.post<ApiToken>("/auth/tokens", body, { token: who.token }), 201);
}

/** Creates a realm that the person owns. */
export async function realm(api: Api, owner: Person, stem = "realm"): Promise<Realm> {
	const slug = unique(stem);
	return ok(await api.post<Realm>("/realms", { slug, name: `Realm ${slug}` }, { token: owner.token }), 201);
}

/** Gives the person a role in the owner's realm. */
export async function bind(api: Api, owner: Person, slug: string, who: Person, role: string): Promise<Binding> {
	const body = { user_id: who.id, role };
	return ok(await api.post<Binding>(`/realms/${slug}/policy/bindings`, body, { token: owner.token }), 201);
}

/** Invites somebody who has no account. `given` may include the address and bindings. */
export async function invitation(api: Api, by: Person, given: object = {}): Promise<Invitation> {
	const body = { email: `${unique("guest")}@example.test`, ...given };
	return ok(await api.post<Invitation>("/invitations", body, { token: by.token }), 201);
}

/** Makes a machine of a realm, as one who manages it. `given` are its fields. */
export async function machine(api: Api, who: Person, slug: string, given: object = {}): Promise<Machine> {
	const path = `/realms/${slug}/machines/${unique("machine")}`;
	return ok(await api.put<Machine>(path, { role: "viewer", ...given }, { token: who.token }));
}

/** Makes a token of a machine. */
export async function machineToken(
	api: Api,
	who: Person,
	slug: string,
	name: string,
	ttl = "1h",
): Promise<MachineToken> {
	const path = `/realms/${slug}/machines/${name}/tokens`;
	return ok(await api.post<MachineToken>(path, { ttl }, { token: who.token }), 201);
}

/** Writes one secret. `more` may include environment, comment and the other optional fields. */
export async function secret(
	api: Api,
	who: Person,
	slug: string,
	key: string,
	value: string,
	more: object = {},
): Promise<Secret> {
	const body = { key, value, ...more };
	return ok(await api.post<Secret>(`/realms/${slug}/secrets`, body, { token: who.token }), 201);
}

/** Makes something that ends as soon as this machine allows: the server refuses an end in the past. Returns it and its end. */
export async function ending<T>(make: (expires_at: string) => Promise<Answer<T>>): Promise<[made: T, end_ms: number]> {
	for (let life_ms = 300; ; life_ms *= 2) {
		const end_ms = Date.now() + life_ms;
		const answer = await make(new Date(end_ms).toISOString());
		if (answer.status !== 400 || life_ms > 60_000) return [ok(answer, 201), end_ms];
	}
}

/** Returns the path of a secret below `/api/v1`, with the key encoded as one segment. */
export function secretPath(slug: string, key: string): string {
	return `/realms/${slug}/secrets/${encodeURIComponent(key)}`;
}
