import { newKey, signJwt } from "../peers/issuer.ts";
import { ok } from "./expect.ts";
import { machine, machineToken, unique } from "./fixtures.ts";
import type { PreparedRequest } from "./requests.ts";
import type { World } from "./world.ts";

type Prepare = (world: World) => PreparedRequest | Promise<PreparedRequest>;

/** Makes a machine in the world's realm. Returns the path to it. */
async function freshMachine({ api, people, slug }: World): Promise<{ path: string; name: string }> {
	const { name } = await machine(api, people.owner, slug);
	return { path: `/api/v1/realms/${slug}/machines/${name}`, name };
}

const ISSUER = "https://id.example.com";
const AUDIENCE = "https://svc.example.com";
const key = newKey("ES256", "test");

/** A trust whose keys are given, so that no issuer is asked. */
const TRUST = { issuer: ISSUER, audience: AUDIENCE, claims: { sub: "deploy" }, jwks: { keys: [key.jwk] } };

/** Makes a machine with a trust. Returns the path to the latter. */
async function freshTrust(world: World): Promise<{ path: string; name: string }> {
	const { path: machine_path, name } = await freshMachine(world);
	const path = `${machine_path}/trusts/test`;
	const { token } = world.people.owner;
	ok(await world.api.send("PUT", path, { token, raw: JSON.stringify(TRUST) }));
	return { path, name };
}

const pathOfTrust = async (world: World) => ({ path: (await freshTrust(world)).path });

const pathOf = async (world: World) => ({ path: (await freshMachine(world)).path });

/** Requests about machines, as in requests.ts. */
export const MACHINE_REQUESTS: Readonly<Record<string, Prepare>> = {
	"PUT /api/v1/realms/{slug}/machines/{name}": ({ slug }) => ({
		path: `/api/v1/realms/${slug}/machines/${unique("machine")}`,
		body: { role: "viewer" },
	}),
	"GET /api/v1/realms/{slug}/machines/{name}": pathOf,
	"DELETE /api/v1/realms/{slug}/machines/{name}": pathOf,
	"POST /api/v1/realms/{slug}/machines/{name}/tokens": async (world) => ({
		path: `${(await freshMachine(world)).path}/tokens`,
		body: { ttl: "1h" },
	}),
	"GET /api/v1/realms/{slug}/machines/{name}/tokens": async (world) => ({
		path: `${(await freshMachine(world)).path}/tokens`,
	}),
	"DELETE /api/v1/realms/{slug}/machines/{name}/tokens/{id}": async (world) => {
		const { path, name } = await freshMachine(world);
		const { id } = await machineToken(world.api, world.people.owner, world.slug, name);
		return { path: `${path}/tokens/${id}` };
	},
	"PUT /api/v1/realms/{slug}/machines/{name}/trusts/{trust}": async (world) => ({
		path: `${(await freshMachine(world)).path}/trusts/test`,
		body: TRUST,
	}),
	"GET /api/v1/realms/{slug}/machines/{name}/trusts": async (world) => ({
		path: (await freshTrust(world)).path.replace(/\/test$/, ""),
	}),
	"GET /api/v1/realms/{slug}/machines/{name}/trusts/{trust}": pathOfTrust,
	"DELETE /api/v1/realms/{slug}/machines/{name}/trusts/{trust}": pathOfTrust,
	"POST /api/v1/auth/jwt": async (world) => {
		const { name } = await freshTrust(world);
		const now_s = Math.floor(Date.now() / 1000);
		const claims = { iss: ISSUER, aud: AUDIENCE, sub: "deploy", iat: now_s, exp: now_s + 300, jti: unique("jti") };
		return { path: "/api/v1/auth/jwt", body: { realm: world.slug, machine: name, jwt: signJwt(key, claims) } };
	},
};
