import type { Api } from "./client.ts";
import { ok } from "./expect.ts";
import { apiToken, bind, type Person, person, realm, unique } from "./fixtures.ts";

/** The people of the access rules: `owner` made the realm, the next three have roles in it, `stranger` is not in it. */
export const PERSONAS = ["stranger", "viewer", "member", "admin", "owner", "instance"] as const;

/** A person's relation to a realm. `instance` is the instance admin, who is not in it. */
export type Persona = (typeof PERSONAS)[number];

/** A caller's proof of identity: a session, or an API token with one scope. */
export const CREDENTIALS = ["session", "read", "write", "delete"] as const;

/** The kinds of token in the access rules. */
export type Credential = (typeof CREDENTIALS)[number];

/** A server with one person of each kind around one realm, and somebody to act upon. */
export interface World {
	readonly api: Api;
	readonly people: Readonly<Record<Persona, Person>>;
	readonly tokens: Readonly<Record<Persona, Readonly<Record<Credential, string>>>>;
	/** Belongs to nothing: the person whom tests bind, unbind, disable and enable. */
	readonly target: Person;
	/** Slug of a realm in which the people have their roles. */
	readonly slug: string;
	/** Makes another such realm, for a request that uses it up. Returns its slug. */
	freshRealm(): Promise<string>;
}

/** Builds the world on an empty server. */
export async function createWorld(api: Api): Promise<World> {
	const people = { instance: await person(api, "instance") } as Record<Persona, Person>;
	const others = PERSONAS.filter((name) => name !== "instance");
	await Promise.all(
		others.map(async (name) => {
			people[name] = await person(api, name);
		}),
	);
	const limits = { token: people.instance.token, raw: JSON.stringify({ realms: 1000 }) };
	ok(await api.send("PUT", `/api/v1/users/${people.owner.id}/limits`, limits));
	const freshRealm = async (): Promise<string> => {
		const { slug } = await realm(api, people.owner);
		for (const role of ["viewer", "member", "admin"] as const) await bind(api, people.owner, slug, people[role], role);
		return slug;
	};
	const tokens = await Promise.all(PERSONAS.map(async (name) => [name, await credentialsOf(api, people[name])]));
	return {
		api,
		people,
		tokens: Object.fromEntries(tokens),
		target: await person(api, "target"),
		slug: await freshRealm(),
		freshRealm,
	};
}

async function credentialsOf(api: Api, who: Person): Promise<Record<Credential, string>> {
	const minted = async (scope: string): Promise<string> => (await apiToken(api, who, scope)).token;
	return {
		session: who.token,
		read: await minted("read"),
		write: await minted("write"),
		delete: await minted("delete"),
	};
}

/** Writes a new key with one version in the environment, as the owner. */
export async function freshSecret(world: World, environment = "dev"): Promise<string> {
	const key = unique("KEY");
	const body = { key, value: "a value", environment };
	const { token } = world.people.owner;
	await world.api.post(`/realms/${world.slug}/secrets`, body, { token });
	return key;
}
