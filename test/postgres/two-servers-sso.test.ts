/* Sign-in at providers through two servers that share one database on a real PostgreSQL, each request at either of them. */
import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import type { Api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import type { Login } from "../harness/resources.ts";
import { createBrowser } from "../peers/oidc-browser.ts";
import { type FakeProvider, startFakeProvider } from "../peers/oidc-fake.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { cookieOf } from "../sso/world.ts";
import { type SharingServers, startBalancedServers } from "./sharing-servers.ts";

const options = { skip: skipWithoutPostgres };

const ends = new AsyncDisposableStack();
let world: SharingServers;
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

/** Signs in with a browser that a program sent, and comes back to another server. @returns the program's proof */
async function signInForProgram(first: Api, second: Api) {
	const verifier = randomBytes(32).toString("base64url");
	const query = `cli_port=40001&cli_challenge=${hash("sha256", verifier, "base64url")}`;
	const { path, headers } = await begin(first, query);
	const answer = await second.get(path, { headers });
	assert.equal(answer.status, 302, answer.text);
	return { code: new URL(String(answer.headers.location)).searchParams.get("code") ?? "", verifier };
}

const redeem = (on: Api, proof: object) => on.post<Login>("/auth/sso/token", proof);

test("a code that one server made is redeemed at the other, by one of ten that try", options, async () => {
	const { here, there } = world;
	const proof = await signInForProgram(here, there);
	const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => redeem(index < 5 ? here : there, proof)));
	const given = answers.filter(({ status }) => status === 200);
	assert.equal(given.length, 1);
	for (const on of [here, there]) ok(await on.get("/auth/whoami", { token: given[0]?.body.token }));
	const another = await signInForProgram(there, here);
	refused(await redeem(there, { ...another, verifier: "v".repeat(43) }), 401, "unauthorized");
	refused(await redeem(here, another), 401, "unauthorized");
});

test("a finished login names nobody in the database, and one that is put back there is void", options, async () => {
	const { here, there, runSql } = world;
	const proof = await signInForProgram(here, there);
	runSql("CREATE TABLE kept AS SELECT * FROM svc.sso_code");
	assert.equal(runSql("SELECT count(*) FROM kept WHERE encode(sealed, 'escape') LIKE '%mallory%'"), "0");
	assert.equal(runSql("SELECT count(*) FROM kept"), "1");
	ok(await redeem(here, proof));
	runSql("INSERT INTO svc.sso_code SELECT * FROM kept");
	refused(await redeem(there, proof), 401, "unauthorized");
	const late = await signInForProgram(here, there);
	runSql(`UPDATE svc.sso_code SET sealed = (SELECT sealed FROM kept)`);
	refused(await redeem(here, late), 401, "unauthorized");
	runSql("DROP TABLE kept");
});
