import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, type Api, api } from "../harness/client.ts";
import { fields, ok, refused } from "../harness/expect.ts";
import { apiToken, type Person, person, realm, secret } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

interface Health {
	readonly status: string;
	readonly version: string;
	readonly commit: string;
	readonly built: string;
	readonly mode: string;
	readonly checks: { readonly database: string; readonly encryption: string };
}

const METRIC =
	/^[a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (?:[-+]?[\d.eE+-]+|NaN|[-+]?Inf)$/;

let server: Server;
let client: Api;
let alice: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	alice = await person(client, "alice");
});
after(() => server.close());

function metrics(): Promise<Answer> {
	return client.send("GET", "/metrics");
}

test("a healthy server says so, with its version, build and mode", async () => {
	const health = ok(await client.get<Health>("/health"));
	fields(health, ["status", "version", "commit", "built", "mode", "checks", "store", "details"]);
	assert.partialDeepStrictEqual(health, {
		status: "healthy",
		mode: "standalone",
		checks: { database: "healthy", encryption: "healthy" },
	});
	assert.match(health.version, /^\d+\.\d+\.\d+/);
	assert.match(health.commit, /^(?:[0-9a-f]{7,40}|unknown)$/);
	assert.ok(health.built === "unknown" || !Number.isNaN(Date.parse(health.built)), health.built);
});

test("a server that takes requests tells a load balancer so in a short answer", async () => {
	const ready = ok(await client.get<Health>("/health?ready=true"));
	fields(ready, ["status", "version", "commit", "built", "mode", "checks", "store"]);
	assert.equal(ready.status, "healthy");
	fields(ok(await client.get("/health?ready=false")), [...Object.keys(ready), "details"]);
	refused(await client.get("/health?ready=1"), 400, "validation_failed");
});

test("health needs no token and takes no notice of a wrong one", async () => {
	ok(await client.get("/health", { token: "svc_wrong" }));
});

test("metrics are in the text exposition format", async () => {
	const { status, headers, text } = await metrics();
	assert.equal(status, 200);
	assert.match(headers["content-type"] ?? "", /^(?:text\/plain|application\/openmetrics-text)/);
	const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
	assert.ok(samples.length > 10);
	for (const line of samples) assert.match(line, METRIC);
});

test("every metric has its help and its type", async () => {
	const { text } = await metrics();
	const names = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]));
	assert.ok(names.size > 5);
	for (const name of names) assert.match(text, new RegExp(`^# HELP ${name} \\S`, "m"));
});

test("metrics and health hold no name of a realm, key, person or token", async () => {
	const { slug, id } = await realm(client, alice, "telltale");
	await secret(client, alice, slug, "TELLTALE_KEY", "telltale value", { expires_at: "2099-01-01T00:00:00Z" });
	const { token, prefix } = await apiToken(client, alice, "read");
	ok(await client.get(`/realms/${slug}/secrets/TELLTALE_KEY`, { token }));
	await client.get("/telltale/path?telltale=query", { token });
	await client.send("GET", "/telltale-root");
	const text = `${(await metrics()).text}${(await client.get("/health")).text}`;
	for (const word of ["telltale", "TELLTALE", slug, id, alice.id, alice.email, prefix]) {
		assert.ok(!text.includes(word), word);
	}
});

test("the number of series does not grow with what is asked for", async () => {
	const series = async (): Promise<number> => (await metrics()).text.split("\n").length;
	for (const path of ["/api/v1/warm-up", "/warm-up"]) await client.send("GET", path);
	const before = await series();
	for (let index = 0; index < 30; index += 1) {
		await client.send("GET", `/api/v1/realms/slug-${index}/nothing-${index}`, { token: alice.token });
		await client.send("GET", `/nothing-${index}`);
	}
	assert.ok((await series()) <= before + 30, "a path that is asked for is no label");
});
