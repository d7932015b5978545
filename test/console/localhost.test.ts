/* A server on this machine whose base_url nobody has set: it is at localhost, where browsers allow passkeys. Design: §16 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "../harness/console.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { startFakeProvider } from "../peers/oidc-fake.ts";
import { type SsoWorld, startSsoWorld } from "../sso/world.ts";

const SITE = { "sec-fetch-site": "same-origin" };

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: SsoWorld;

before(async () => {
	world = await startSsoWorld();
	ends.defer(world.close);
});

test("the console, its passkeys and sign-ins at a provider are at localhost, and at no address of the machine", async () => {
	const { server } = world;
	const { hostname, port } = new URL(server.url);
	assert.equal(hostname, "localhost");
	assert.equal((await ask(server, "GET", "/console", SITE)).status, 401);
	const elsewhere = await ask(server, "GET", "/console", { ...SITE, host: `127.0.0.1:${port}` });
	assert.deepEqual([elsewhere.status, elsewhere.text.includes(`${server.url}/console`)], [421, true]);
	const passkeys = await ask(server, "GET", "/console/sign-in/passkey", SITE);
	assert.match(passkeys.text, /&quot;rpId&quot;:&quot;localhost&quot;/);
	const liar = await startFakeProvider();
	ends.defer(liar.stop);
	const { issuer, client_id, client_secret, ca_cert } = liar;
	await world.set("corp", "oidc", { issuer, client_id, client_secret, ca_cert });
	const begun = await ask(server, "GET", "/console/sign-in/oidc/corp", SITE);
	const redirect_uri = new URL(String(begun.headers.location)).searchParams.get("redirect_uri");
	assert.equal(redirect_uri, `${server.url}/api/v1/auth/oidc/corp/callback`);
});

test("the start and doctor say that base_url is not set", async () => {
	const { server, client, root } = world;
	assert.match(server.stdout(), /^ +base_url +not set/m);
	const { checks } = ok(
		await client.get<{ checks: { name: string; status: string; message: string }[] }>("/doctor", { token: root.token }),
	);
	const found = checks.find(({ name }) => name === "base_url");
	assert.deepEqual([found?.status, found?.message.includes(server.url)], ["ok", true]);
});

test("an address of the machine to which localhost does not lead is named itself", async () => {
	const { server } = world;
	await server.restart({ SVC_LISTEN: "127.0.0.2:0" });
	assert.equal(new URL(server.url).hostname, "127.0.0.2");
});

test("without TLS it is named by the address that it listens on", async () => {
	const { server } = world;
	await server.restart({ SVC_LISTEN: "127.0.0.1:0", SVC_TLS_MODE: "off" });
	const { protocol, hostname } = new URL(server.url);
	assert.deepEqual([protocol, hostname], ["http:", "127.0.0.1"]);
});

// Comes last: no restart takes base_url away again.
test("the start warns that a stored provider must know the new name, unless base_url is set", async () => {
	const { server } = world;
	const warned = () => server.stderr().split('"event":"base_url.default"').length - 1;
	assert.equal(warned(), 0, "the server had no provider, or another name");
	await server.restart({ SVC_TLS_MODE: "self-signed" });
	await eventually("the warning", () => warned() === 1);
	await server.restart({ SVC_BASE_URL: server.url });
	await server.stop();
	assert.equal(warned(), 1);
});
