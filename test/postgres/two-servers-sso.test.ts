/* Sign-in at providers through two servers that share one database on a real PostgreSQL, each request at either of them. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import type { Login } from "../harness/resources.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import { type FakeProvider, startFakeProvider } from "../peers/oidc-fake.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { cookieOf } from "../sso/world.ts";
import { type BalancedServers, startBalancedServers } from "./balanced-servers.ts";

const options = { skip: skipWithoutPostgres };

const ends = new AsyncDisposableStack();
let world: BalancedServers;
let provider: FakeProvider;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	world = await startBalancedServers();
	ends.defer(world.close);
	provider = await startFakeProvider();
	ends.defer(provider.stop);
	const { issuer, client_id, client_secret, ca_cert } = provider;
	const raw = JSON.stringify({ type: "oidc", config: { issuer, client_id, client_secret, ca_cert } });
	ok(await world.here.send("PUT", "/api/v1/auth/providers/corp", { token: world.root.token, raw }));
});

/** Begins a login on one server, and signs in at the provider. @returns how the browser comes back */
async function begin(on: Api, query = "") {
	const begun = await on.get(`/auth/oidc/corp/login?${query}`);
	assert.equal(begun.status, 302, begun.text);
	const back = `${world.servers[0].url}/api/v1/auth/oidc/corp/callback`;
	const { search } = await createBrowser(provider.ca_cert).follow(String(begun.headers.location), back);
	return { path: `/auth/oidc/corp/callback${search}`, headers: { cookie: cookieOf(begun) } };
}

test("a login that began on one server ends on the other, once", options, async () => {
	for (const [first, second] of [
		[world.here, world.there],
		[world.there, world.here],
	] as const) {
		const { path, headers } = await begin(first);
		const { token } = ok(await second.get<Login>(path, { headers }));
		ok(await first.get("/auth/whoami", { token }));
		for (const on of [second, first]) refused(await on.get(path, { headers }), 401, "unauthorized");
	}
	const reasons = (await events(world.there, world.root, "type=auth.login.failed")).map(({ data }) => data.reason);
	assert.deepEqual(reasons, ["replay", "replay", "replay", "replay"]);
});
