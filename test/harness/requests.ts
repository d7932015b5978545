import assert from "node:assert/strict";
import { ENGINE_REQUESTS } from "./engine-requests.ts";
import { ok } from "./expect.ts";
import {
	apiToken,
	bind,
	invitation,
	login,
	PASSWORD,
	type Person,
	realm,
	secretPath,
	sessionId,
	unique,
} from "./fixtures.ts";
import { MACHINE_REQUESTS } from "./machine-requests.ts";
import { SSO_REQUESTS } from "./sso-requests.ts";
import { freshSecret, type World } from "./world.ts";

let logins: Promise<unknown> = Promise.resolve();

/** Signs people in one after another: of one account, only four logins may wait. */
function loginInTurn(...asked: Parameters<typeof login>): ReturnType<typeof login> {
	const next = logins.then(() => login(...asked));
	logins = next.catch(() => undefined);
	return next;
}

/** The sender of a request: nobody, or a person with a token of these scopes. */
export interface Caller {
	readonly person: Person | undefined;
	readonly scopes: string;
}

/** A request without its method and its token. */
export interface PreparedRequest {
	/** Path from the root of the server. */
	readonly path: string;
	readonly body?: object;
}

type Prepare = (world: World, caller: Caller) => PreparedRequest | Promise<PreparedRequest>;

const V1 = "/api/v1";

/** Returns what prepares the request to a route, on fixtures of its own, which succeeds when the caller may make it. */
export function requestTo(route: string): Prepare {
	const [method, path = ""] = route.split(" ");
	const isPlain = method === "GET" && !/\{(?!slug\}|realm\})/.test(path);
	const plain: Prepare = ({ slug }) => ({ path: path.replace(/\{\w+\}/, slug) });
	return REQUESTS[route] ?? (isPlain ? plain : assert.fail(`add a request for "${route}" to test/harness/requests.ts`));
}

/** Requests by route. A GET without one is sent to its path as it is, in the world's realm. */
export const REQUESTS: Readonly<Record<string, Prepare>> = {
	"POST /api/v1/auth/register": () => ({
		path: `${V1}/auth/register`,
		body: { email: `${unique("new")}@example.test`, password: PASSWORD },
	}),
	"POST /api/v1/auth/login": ({ target }) => ({
		path: `${V1}/auth/login`,
		body: { email: target.email, password: target.password },
	}),
	"GET /api/v1/auth/whoami": () => ({ path: `${V1}/auth/whoami` }),
	"POST /api/v1/auth/logout": () => ({ path: `${V1}/auth/logout` }),
	"POST /api/v1/auth/password": () => ({
		path: `${V1}/auth/password`,
		body: { current_password: PASSWORD, new_password: `another ${PASSWORD}` },
	}),

	"POST /api/v1/auth/reset": async ({ api, people, target }) => {
		const { token } = people.instance;
		const { code } = ok(await api.post<{ code: string }>(`/users/${target.id}/reset`, undefined, { token }), 201);
		return { path: `${V1}/auth/reset`, body: { email: target.email, code, new_password: target.password } };
	},

	"POST /api/v1/auth/factors": () => ({
		path: `${V1}/auth/factors`,
		body: { type: "totp", current_password: PASSWORD },
	}),
	"POST /api/v1/auth/factors/{id}/confirm": () => ({
		path: `${V1}/auth/factors/${crypto.randomUUID()}/confirm`,
		body: { code: "000000" },
	}),
	"POST /api/v1/auth/recovery-codes": () => ({
		path: `${V1}/auth/recovery-codes`,
		body: { current_password: PASSWORD },
	}),
	"DELETE /api/v1/auth/factors/{id}": () => ({
		path: `${V1}/auth/factors/${crypto.randomUUID()}`,
		body: { current_password: PASSWORD },
	}),

	"POST /api/v1/users/{id}/reset": ({ target }) => ({ path: `${V1}/users/${target.id}/reset` }),
	"DELETE /api/v1/users/{id}/factors": ({ target }) => ({ path: `${V1}/users/${target.id}/factors` }),
	"POST /api/v1/users/{id}/disable": ({ target }) => ({ path: `${V1}/users/${target.id}/disable` }),
	"POST /api/v1/users/{id}/enable": ({ target }) => ({ path: `${V1}/users/${target.id}/enable` }),

	"GET /api/v1/users/{id}": ({ target }) => ({ path: `${V1}/users/${target.id}` }),
	"GET /api/v1/users/{id}/made": ({ target }) => ({ path: `${V1}/users/${target.id}/made` }),
	"GET /api/v1/users/{id}/sessions": ({ target }) => ({ path: `${V1}/users/${target.id}/sessions` }),
	"GET /api/v1/users/{id}/tokens": ({ target }) => ({ path: `${V1}/users/${target.id}/tokens` }),
	"DELETE /api/v1/users/{id}/sessions/{session}": async ({ api, people: { owner } }) => ({
		path: `${V1}/users/${owner.id}/sessions/${sessionId(await loginInTurn(api, owner))}`,
	}),
	"DELETE /api/v1/users/{id}/tokens/{token}": async ({ api, people: { owner } }) => ({
		path: `${V1}/users/${owner.id}/tokens/${(await apiToken(api, owner, "read")).id}`,
	}),
	"PUT /api/v1/users/{id}": ({ target }) => ({ path: `${V1}/users/${target.id}`, body: { instance_admin: false } }),
	"PUT /api/v1/users/{id}/limits": ({ target }) => ({ path: `${V1}/users/${target.id}/limits`, body: { realms: 250 } }),
	"POST /api/v1/revoke": ({ target }) => ({ path: `${V1}/revoke`, body: { user_id: target.id } }),

	"POST /api/v1/invitations": () => ({ path: `${V1}/invitations`, body: { email: `${unique("guest")}@example.test` } }),
	"DELETE /api/v1/invitations/{id}": async ({ api, people }, { person }) => {
		const { id } = await invitation(api, person ?? people.owner);
		return { path: `${V1}/invitations/${id}` };
	},

	"DELETE /api/v1/auth/sessions/{id}": async ({ api, people }, { person = people.owner }) => ({
		path: `${V1}/auth/sessions/${sessionId(await loginInTurn(api, person))}`,
	}),

	"POST /api/v1/auth/tokens": (_, { scopes }) => ({
		path: `${V1}/auth/tokens`,
		body: { name: unique("minted"), scopes },
	}),
	"DELETE /api/v1/auth/tokens/{id}": async ({ api, people }, { person }) => {
		const { id } = await apiToken(api, person ?? people.owner, "read");
		return { path: `${V1}/auth/tokens/${id}` };
	},

	"POST /api/v1/realms": () => ({ path: `${V1}/realms`, body: { slug: unique("made"), name: "A realm" } }),
	"PUT /api/v1/realms/{slug}": async ({ api, people }, { person }) => ({
		path: `${V1}/realms/${(await realm(api, person ?? people.owner)).slug}`,
		body: { name: "Another name" },
	}),
	"POST /api/v1/realms/{slug}/leave": async ({ api, people }, { person: guest = people.owner }) => {
		const host = guest.id === people.owner.id ? people.admin : people.owner;
		const { slug } = await realm(api, host);
		await bind(api, host, slug, guest, "admin");
		return { path: `${V1}/realms/${slug}/leave` };
	},
	"DELETE /api/v1/realms/{slug}": async ({ freshRealm }) => ({ path: `${V1}/realms/${await freshRealm()}` }),
	"POST /api/v1/realms/{slug}/restore": async ({ api, people }, { person }) => {
		const owner = person ?? people.owner;
		const { slug } = await realm(api, owner);
		ok(await api.delete(`/realms/${slug}`, { token: owner.token }));
		return { path: `${V1}/realms/${slug}/restore`, body: {} };
	},

	"POST /api/v1/realms/{slug}/secrets": ({ slug }) => ({
		path: `${V1}/realms/${slug}/secrets`,
		body: { key: unique("KEY"), value: "a value" },
	}),
	"GET /api/v1/realms/{slug}/secrets/{key}": async (world) => ({ path: await freshSecretPath(world) }),
	"DELETE /api/v1/realms/{slug}/secrets/{key}": async (world) => ({ path: await freshSecretPath(world) }),
	"GET /api/v1/realms/{slug}/secrets/{key}/versions": async (world) => ({
		path: `${await freshSecretPath(world)}/versions`,
	}),
	"POST /api/v1/realms/{slug}/secrets/{key}/rollback": async (world) => ({
		path: `${await freshSecretPath(world)}/rollback`,
		body: { version: 1 },
	}),
	"POST /api/v1/realms/{slug}/secrets/{key}/restore": async (world) => {
		const key = await freshSecret(world);
		ok(await world.api.delete(secretPath(world.slug, key), { token: world.people.owner.token }));
		return { path: `${V1}/realms/${world.slug}/secrets/${key}/restore`, body: {} };
	},
	"GET /api/v1/realms/{slug}/diff": ({ slug }) => ({ path: `${V1}/realms/${slug}/diff?from=dev&to=prod` }),
	"POST /api/v1/realms/{slug}/promote": async (world) => ({
		path: `${V1}/realms/${world.slug}/promote`,
		body: { from: "dev", to: "prod", secrets: [{ key: await freshSecret(world) }] },
	}),
	"POST /api/v1/encrypt": () => ({ path: `${V1}/encrypt`, body: { value: "a value" } }),

	"GET /api/v1/policy/explain": ({ slug }) => ({ path: `${V1}/policy/explain?realm=${slug}` }),
	"POST /api/v1/realms/{slug}/policy/bindings": async ({ freshRealm, target }) => ({
		path: `${V1}/realms/${await freshRealm()}/policy/bindings`,
		body: { user_id: target.id, role: "viewer" },
	}),
	"PUT /api/v1/realms/{slug}/policy/bindings/{userID}": async ({ api, people, freshRealm, target }) => {
		const slug = await freshRealm();
		await bind(api, people.owner, slug, target, "viewer");
		return { path: `${V1}/realms/${slug}/policy/bindings/${target.id}`, body: { role: "member" } };
	},
	"DELETE /api/v1/realms/{slug}/policy/bindings/{userID}": async ({ api, people, freshRealm, target }) => {
		const slug = await freshRealm();
		await bind(api, people.owner, slug, target, "viewer");
		return { path: `${V1}/realms/${slug}/policy/bindings/${target.id}` };
	},

	"GET /api/v1/realms/{slug}/audit/keys/{keys}": async ({ api, people, slug }) => {
		const { token } = people.owner;
		ok(await api.get(`/realms/${slug}/secrets`, { token }));
		const query = `realm=${slug}&type=secret.list&limit=1`;
		const { events } = ok(await api.get<{ events: { data: string }[] }>(`/audit/events?${query}`, { token }));
		return { path: `${V1}/realms/${slug}/audit/keys/${JSON.parse(events[0]?.data ?? "{}").key_set}` };
	},

	...MACHINE_REQUESTS,
	...SSO_REQUESTS,
	...ENGINE_REQUESTS,

	"GET /api/v1/eso/{realm}/{key}": async (world) => ({
		path: `${V1}/eso/${world.slug}/${await freshSecret(world, "prod")}`,
	}),

	"POST /api/v1/backups": () => ({ path: `${V1}/backups` }),
	"GET /api/v1/backups/{name}": async (world) => ({ path: `${V1}/backups/${await aBackup(world)}` }),
	"POST /api/v1/keys/rotate": () => ({ path: `${V1}/keys/rotate`, body: { purpose: "portable" } }),
};

/** Returns the name of a backup of the server. */
async function aBackup({ api, people }: World): Promise<string> {
	const { token } = people.instance;
	const { backups } = ok(await api.get<{ backups: { name: string }[] }>("/backups", { token }));
	return backups[0]?.name ?? ok(await api.post<{ name: string }>("/backups", undefined, { token }), 201).name;
}

async function freshSecretPath(world: World): Promise<string> {
	return `${V1}/realms/${world.slug}/secrets/${await freshSecret(world)}`;
}
