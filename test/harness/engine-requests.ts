import { bind, type Person, person, unique } from "./fixtures.ts";
import type { PreparedRequest } from "./requests.ts";
import type { World } from "./world.ts";

const V1 = "/api/v1";

/** Number of engines of memo-engine.ts that the requests need: some use one up. */
export const MEMO_ENGINES = 30;

const EVERYBODY = { allowed_realms: ["*"] };
const TYPE = "memo-1";
const CONFIGURED = "memo-2";

/** Things that the requests to a server use up, or share. */
const used = new WeakMap<World, { types: number; maker?: Promise<Person> }>();

function usedOf(world: World) {
	const found = used.get(world) ?? { types: 2 };
	used.set(world, found);
	return found;
}

/** Returns an engine that no request has configured. */
function freshType(world: World): string {
	const shared = usedOf(world);
	shared.types += 1;
	return `memo-${shared.types}`;
}

/** Makes a credential in a new realm, for somebody who has no other role there. */
async function freshLease(world: World): Promise<{ slug: string; id: string; name: string }> {
	const { api, people } = world;
	const slug = await world.freshRealm();
	const shared = usedOf(world);
	shared.maker ??= person(api, "maker");
	const viewer = await shared.maker;
	await bind(api, people.owner, slug, viewer, "viewer");
	const { token } = viewer;
	const made = await api.post(`/realms/${slug}/engines/${TYPE}/generate`, {}, { token });
	const id = String(made.headers["x-lease-id"]);
	const { body } = await api.get<{ name: string }>(`/realms/${slug}/leases/${id}`, { token });
	return { slug, id, name: body.name };
}

async function configure({ api, people }: World, path: string): Promise<string> {
	const { token } = people.instance;
	const all = path.includes("/realms/") ? {} : EVERYBODY;
	await api.send("PUT", path, { token, raw: JSON.stringify({ note: "a note", ...all }) });
	return path;
}

type Prepare = (world: World) => PreparedRequest | Promise<PreparedRequest>;

/** Requests to engines and about leases, as in requests.ts. */
export const ENGINE_REQUESTS: Readonly<Record<string, Prepare>> = {
	"POST /api/v1/realms/{slug}/engines/{type}/generate": ({ slug }) => ({
		path: `${V1}/realms/${slug}/engines/${TYPE}/generate`,
		body: { role: "readonly" },
	}),
	"POST /api/v1/realms/{slug}/engines/{type}/validate": async (world) => {
		const { slug, name } = await freshLease(world);
		return { path: `${V1}/realms/${slug}/engines/${TYPE}/validate`, body: { name } };
	},
	"POST /api/v1/engines/{type}/ping": () => ({ path: `${V1}/engines/${TYPE}/ping` }),
	"GET /api/v1/engines/{type}/config": async (world) => ({
		path: await configure(world, `${V1}/engines/${CONFIGURED}/config`),
	}),
	"PUT /api/v1/engines/{type}/config": () => ({
		path: `${V1}/engines/${CONFIGURED}/config`,
		body: { note: unique("note"), ...EVERYBODY },
	}),
	"DELETE /api/v1/engines/{type}/config": async (world) => ({
		path: await configure(world, `${V1}/engines/${freshType(world)}/config`),
	}),
	"GET /api/v1/realms/{slug}/engines/{type}/config": async (world) => ({
		path: await configure(world, `${V1}/realms/${await world.freshRealm()}/engines/${TYPE}/config`),
	}),
	"PUT /api/v1/realms/{slug}/engines/{type}/config": async ({ freshRealm }) => ({
		path: `${V1}/realms/${await freshRealm()}/engines/${TYPE}/config`,
		body: { note: "a note" },
	}),
	"DELETE /api/v1/realms/{slug}/engines/{type}/config": async (world) => ({
		path: await configure(world, `${V1}/realms/${await world.freshRealm()}/engines/${TYPE}/config`),
	}),

	"GET /api/v1/realms/{slug}/leases/{id}": async (world) => ({ path: await freshLeasePath(world) }),
	"DELETE /api/v1/realms/{slug}/leases/{id}": async (world) => ({ path: await freshLeasePath(world) }),
	"POST /api/v1/leases/revoke": () => ({ path: `${V1}/leases/revoke`, body: { engine: "none" } }),
	"POST /api/v1/leases/resume": () => ({ path: `${V1}/leases/resume` }),
	"POST /api/v1/leases/{id}/abandon": async (world) => ({
		path: `${V1}/leases/${(await freshLease(world)).id}/abandon`,
		body: { reason: "the target is gone" },
	}),
};

async function freshLeasePath(world: World): Promise<string> {
	const { slug, id } = await freshLease(world);
	return `${V1}/realms/${slug}/leases/${id}`;
}
