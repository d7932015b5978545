import { machine, machineToken, unique } from "./fixtures.ts";
import type { PreparedRequest } from "./requests.ts";
import type { World } from "./world.ts";

type Prepare = (world: World) => PreparedRequest | Promise<PreparedRequest>;

/** Makes a machine in the world's realm. Returns the path to it. */
async function freshMachine({ api, people, slug }: World): Promise<{ path: string; name: string }> {
	const { name } = await machine(api, people.owner, slug);
	return { path: `/api/v1/realms/${slug}/machines/${name}`, name };
}

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
};
