import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { realm, secretPath, unique } from "../harness/fixtures.ts";
import type { ErrorBody, Secret } from "../harness/resources.ts";
import { type Server, startServer } from "../harness.ts";
import { type JsonRoute, type JsonRoutes, jsonRoutes } from "./json-routes.ts";

let server: Server;
let client: Api;
let world: JsonRoutes;

before(async () => {
	server = await startServer();
	client = api(server);
	world = await jsonRoutes(client);
});
after(() => server.close());

function send({ path, token }: JsonRoute, raw: string): ReturnType<Api["post"]> {
	return client.post(path, undefined, { token, raw });
}

/** Fails unless the server is as before: no field has come from nowhere. */
async function assertClean(): Promise<void> {
	const made = await realm(client, world.owner);
	fields(made, ["id", "slug", "name", "description", "user_id", "created_at"]);
	assert.equal(made.description, "");
	const missing = await client.get<ErrorBody>("/nothing-here", { token: world.owner.token });
	refused(missing, 404, "not_found");
	assert.ok(!missing.text.includes("polluted"));
}

test("fields that are in __proto__ are not there", async () => {
	for (const route of world.routes) {
		const raw = `{"__proto__":${JSON.stringify(route.valid())}}`;
		refused(await send(route, raw), 400, "missing_field");
	}
	await assertClean();
});

for (const name of [
	"__proto__",
	"constructor",
	"prototype",
	"toString",
	"hasOwnProperty",
	"then",
	"toJSON",
	"valueOf",
]) {
	test(`a body with the field ${name} is taken without it, or refused`, async () => {
		for (const inner of [
			'{"polluted":"polluted","description":"polluted"}',
			'{"prototype":{"polluted":"polluted"}}',
			"null",
			'"polluted"',
		]) {
			for (const route of world.routes.filter(({ costly }) => !costly || inner.includes("description"))) {
				const raw = `{"${name}":${inner},${JSON.stringify(route.valid()).slice(1)}`;
				const answer = await send(route, raw);
				// After twenty rollbacks the version to roll back to has left the history.
				assert.ok([200, 201, 400, 404, 409].includes(answer.status), `${route.path}: ${answer.text}`);
				assert.ok(!answer.text.includes("polluted"), answer.text);
			}
		}
		await assertClean();
	});
}

test("optional fields are not read from the prototype", async () => {
	const key = unique("KEY");
	const raw = `{"key":"${key}","value":"plain","__proto__":{"pre_encrypted":true,"environment":"prod","comment":"polluted"}}`;
	const { token } = world.owner;
	const answer = await client.post<Secret>(`/realms/${world.slug}/secrets`, undefined, { token, raw });
	if (answer.status === 400) return;
	assert.equal(ok(answer, 201).environment, "dev");
	assert.equal(ok(await client.get<Secret>(secretPath(world.slug, key), { token })).value, "plain");
	assert.ok(!(await client.get(`${secretPath(world.slug, key)}/versions`, { token })).text.includes("polluted"));
});

test("names of inherited fields are no roles, scopes, environments, types or actions", async () => {
	const { token } = world.owner;
	for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
		const bindings = `/realms/${world.slug}/policy/bindings`;
		refused(await client.post(bindings, { user_id: name, role: name }, { token }), 400, "invalid_role");
		refused(await client.post("/auth/tokens", { name, scopes: name }, { token }), 400, "invalid_scope");
		refused(await client.get(`/realms/${world.slug}/secrets?env=${name}`, { token }), 400, "invalid_environment");
		ok(await client.get(`/audit/events?type=${name}`, { token }));
	}
});

test("headers with such names do no harm", async () => {
	for (const name of ["__proto__", "constructor", "hasownproperty"]) {
		ok(await client.get("/health", { headers: { [name]: "polluted" } }));
	}
	await assertClean();
});
