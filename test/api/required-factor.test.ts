/* A server that requires a second factor: a session without one can add one, and sign out. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { ask, enter } from "../harness/console.ts";
import { ok, refused } from "../harness/expect.ts";
import { PASSWORD, type Person, person } from "../harness/fixtures.ts";
import type { Login } from "../harness/resources.ts";
import { nextCode } from "../harness/totp.ts";
import { type Server, startServer } from "../harness.ts";
import { ENDPOINTS } from "../spec/endpoints.ts";

let server: Server;
let client: Api;
let root: Person;

before(async () => {
	server = await startServer({ env: { SVC_AUTH_SECOND_FACTOR: "admins" } });
	client = api(server);
	root = await person(client, "root");
});
after(() => server.close());

/** Routes that are left to a session without the factor. */
const OPEN = [
	...["GET /api/v1/auth/factors", "POST /api/v1/auth/factors", "POST /api/v1/auth/factors/{id}/confirm"],
	"GET /api/v1/auth/whoami",
];
const LOGOUT = "POST /api/v1/auth/logout";

test("an admin's session without a second factor is refused everywhere but where it adds one or ends", async () => {
	const reached: string[] = [];
	for (const { name, method, path } of ENDPOINTS.filter(({ least }) => least !== "public")) {
		if (name === LOGOUT) continue;
		const body = method === "GET" ? {} : { raw: "{}" };
		const answer = await client.send(method, path.replaceAll(/\{\w+\}/g, "none"), { token: root.token, ...body });
		if (answer.status !== 403 || !/requires a second factor/.test(answer.text)) reached.push(name);
	}
	assert.deepEqual(new Set(reached), new Set(OPEN));
	const session = await enter(server, root);
	const { status, headers } = await ask(server, "GET", "/console", session);
	assert.deepEqual([status, headers.location], [303, "/console/account/factors"]);
	assert.equal((await ask(server, "GET", "/console/account/factors", session)).status, 200);
	ok(await client.post("/auth/logout", undefined, { token: root.token }));
});

test("with the factor it continues, and others need none in mode admins", async () => {
	const { token } = ok(await client.post<Login>("/auth/login", { email: root.email, password: PASSWORD }));
	refused(await client.get("/realms", { token }), 403, "forbidden");
	const body = { type: "totp", current_password: PASSWORD };
	const { id, secret } = ok(await client.post<{ id: string; secret: string }>("/auth/factors", body, { token }), 201);
	ok(await client.post(`/auth/factors/${id}/confirm`, { code: await nextCode(secret) }, { token }));
	ok(await client.get("/realms", { token }));
	const ada = await person(client, "ada");
	ok(await client.get("/realms", { token: ada.token }));
});
