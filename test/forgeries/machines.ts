import type { Api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { machine, machineToken, type Person, unique } from "../harness/fixtures.ts";
import type { MachineToken } from "../harness/resources.ts";
import { newKey, signJwt } from "../peers/issuer.ts";

const ISSUER = "https://id.example.com";
const AUDIENCE = "https://svc.example.com";
const TTL = "24h";

const key = newKey("ES256", "forgeries");

/** Subjects of the JWTs that a trust takes: the second trust ends. */
const [DEPLOY, FORMER, RELEASE] = ["deploy", "former", "release"];

/** Machines, their tokens and trusts: those that stay, and those that end. */
export interface Machines {
	/** Path to a machine that reads one environment, and its token. */
	readonly path: string;
	readonly token: string;
	/** A token that ends. */
	readonly ended: MachineToken;
	/** An exchange of a JWT that was taken once. */
	readonly used: object;
	/** Asks for a token by the trust that ends. */
	readonly byFormerTrust: () => object;
}

/** Makes them all. @param slugs two realms of the owner */
export async function makeMachines(client: Api, owner: Person, slugs: readonly [string, string]): Promise<Machines> {
	const [slug, other] = slugs;
	const { token } = owner;
	const reader = await machine(client, owner, slug, { environment: "dev" });
	const writer = await machine(client, owner, other, { role: "member", scopes: "read,write" });
	const path = `/realms/${slug}/machines/${reader.name}`;
	const trusts: [path: string, sub: string, max_ttl: string][] = [
		[`${path}/trusts/first`, DEPLOY, "30m"],
		[`${path}/trusts/second`, FORMER, "1h"],
		[`/realms/${other}/machines/${writer.name}/trusts/third`, RELEASE, "1h"],
	];
	for (const [at, sub, max_ttl] of trusts) {
		const body = { issuer: ISSUER, audience: AUDIENCE, claims: { sub }, max_ttl, jwks: { keys: [key.jwk] } };
		ok(await client.put(at, body, { token }));
	}
	const exchange = (sub: string) => ({ realm: slug, machine: reader.name, jwt: jwtOf(sub) });
	const used = exchange(DEPLOY);
	for (const one of [used, exchange(DEPLOY)]) ok(await client.post("/auth/jwt", one));
	await machineToken(client, owner, other, writer.name, TTL);
	return {
		path,
		token: (await machineToken(client, owner, slug, reader.name, TTL)).token,
		ended: await machineToken(client, owner, slug, reader.name, TTL),
		used,
		byFormerTrust: () => exchange(FORMER),
	};
}

/** Makes a JWT that nobody has used, valid for some hours. */
function jwtOf(sub: string): string {
	const now_s = Math.floor(Date.now() / 1000);
	return signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub, jti: unique("jti"), iat: now_s, exp: now_s + 4 * 3600 });
}

/** Ends what ends. */
export async function endMachines(client: Api, { token }: Person, { path, ended }: Machines): Promise<void> {
	ok(await client.delete(`${path}/tokens/${ended.id}`, { token }));
	ok(await client.delete(`${path}/trusts/second`, { token }));
}
