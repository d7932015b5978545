/* The output of `svc eso manifest`, used as External Secrets Operator would: its requests, its templates, its answers. */
import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { json } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { type Cli, createCli } from "../harness/cli.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { secret } from "../harness/fixtures.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";

const VALUE = "canary é'\"{{ x }}\nsecond line";

interface Webhook {
	readonly url: string;
	readonly method: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body?: string;
	readonly result: { readonly jsonPath: string };
	readonly caBundle: string;
	readonly timeout: string;
	readonly secrets: readonly { readonly name: string; readonly secretRef: { readonly name: string } }[];
}

/** The part of the objects that the operator reads. */
interface Item {
	readonly apiVersion: string;
	readonly kind: string;
	readonly metadata: { readonly name: string; readonly namespace: string; readonly labels?: Record<string, string> };
	readonly stringData?: { readonly token: string };
	// biome-ignore lint/suspicious/noExplicitAny: each kind has its own
	readonly spec?: any;
}

let world: EngineWorld;
let cli: Cli;
let redis: Redis;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	world = await startEngineWorld();
	ends.defer(world.close);
	cli = await createCli(world.server, world.admin);
	ends.defer(cli.close);
	await secret(world.client, world.admin, world.slug, "DATABASE_URL", VALUE, { environment: "prod" });
	await secret(world.client, world.admin, world.slug, "tls/key.1", "a key", { environment: "prod" });
	await secret(world.client, world.admin, world.slug, "DATABASE_URL", "of staging", { environment: "staging" });
	if (skipWithoutRedis !== false) return;
	redis = await startRedis();
	ends.defer(redis.stop);
	ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

async function manifest(...args: string[]): Promise<Item[]> {
	const { code, stdout, stderr } = await cli.run(["eso", "manifest", "--realm", world.slug, "--json", ...args]);
	assert.equal(code, 0, stderr);
	return JSON.parse(stdout).items;
}

const only = (items: readonly Item[], kind: string): Item => {
	const [item, ...more] = items.filter((one) => one.kind === kind);
	assert.ok(item !== undefined && more.length === 0, `${kind}: ${more.length}`);
	return item;
};

/** Go's url.QueryEscape, which the operator applies to the values it fills in. */
const queryEscape = (text: string) =>
	encodeURIComponent(text)
		.replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
		.replaceAll("%20", "+");

/** Acts as the operator: fills in templates from the Secrets in the namespace, sends one request, takes the value at the JSON path. */
async function fetchAs(
	items: readonly Item[],
	webhook: Webhook,
	key = "",
): Promise<{ status: number; value: unknown }> {
	const [reference] = webhook.secrets;
	const held = items.find(({ kind, metadata }) => kind === "Secret" && metadata.name === reference?.secretRef.name);
	assert.equal(held?.metadata.labels?.["external-secrets.io/type"], "webhook", "the operator sees no other Secret");
	const fill = (text: string, encode = (plain: string) => plain) =>
		text
			.replaceAll("{{ .remoteRef.key }}", () => encode(key))
			.replaceAll(`{{ .${reference?.name}.token }}`, () => held?.stringData?.token ?? "");
	const headers = Object.fromEntries(Object.entries(webhook.headers).map(([name, value]) => [name, fill(value)]));
	const agent = new Agent({ ca: Buffer.from(webhook.caBundle, "base64").toString() });
	const sent = request(fill(webhook.url, queryEscape), { method: webhook.method, headers, agent });
	sent.end(webhook.body === undefined ? undefined : fill(webhook.body));
	const { promise, resolve, reject } = Promise.withResolvers<import("node:http").IncomingMessage>();
	sent.once("response", resolve).once("error", reject);
	const response = await promise;
	const body = (await json(response)) as Record<string, unknown>;
	const { jsonPath } = webhook.result;
	assert.match(jsonPath, /^\$(?:\.\w+)?$/);
	return { status: response.statusCode ?? 0, value: jsonPath === "$" ? body : body[jsonPath.slice(2)] };
}

const webhookOf = (item: Item): Webhook => item.spec.provider.webhook;

test("secrets that are named are fetched one by one, and their keys fit into a Secret", async () => {
	const items = await manifest("--key", "DATABASE_URL", "--key", "tls/key.1", "--namespace", "apps");
	assert.deepEqual(
		items.map(({ kind }) => kind),
		["Secret", "SecretStore", "ExternalSecret"],
	);
	assert.deepEqual(new Set(items.map(({ metadata }) => metadata.namespace)), new Set(["apps"]));
	const [store, wanted] = [only(items, "SecretStore"), only(items, "ExternalSecret")];
	assert.equal(store.apiVersion, "external-secrets.io/v1");
	assert.deepEqual(wanted.spec.secretStoreRef, { kind: "SecretStore", name: store.metadata.name });
	assert.equal(wanted.spec.target.deletionPolicy, "Retain");
	assert.deepEqual(wanted.spec.data, [
		{ secretKey: "DATABASE_URL", remoteRef: { key: "DATABASE_URL" } },
		{ secretKey: "tls.key.1", remoteRef: { key: "tls/key.1" } },
	]);
	assert.deepEqual(await fetchAs(items, webhookOf(store), "DATABASE_URL"), { status: 200, value: VALUE });
	assert.deepEqual(await fetchAs(items, webhookOf(store), "tls/key.1"), { status: 200, value: "a key" });
	assert.equal((await fetchAs(items, webhookOf(store), "NONE")).status, 404);
	// The operator validates the URL as it is: the host must not be a template.
	assert.equal(new URL(webhookOf(store).url).origin, world.server.url);
});

test("all secrets are fetched at once when nothing is named", async () => {
	const items = await manifest();
	const store = only(items, "SecretStore");
	assert.deepEqual(only(items, "ExternalSecret").spec.dataFrom, [{ extract: { key: "all" } }]);
	const { value } = await fetchAs(items, webhookOf(store), "all");
	assert.deepEqual(value, { DATABASE_URL: VALUE, "tls/key.1": "a key" });
	const staging = await manifest("--env", "staging");
	assert.deepEqual((await fetchAs(staging, webhookOf(only(staging, "SecretStore")))).value, {
		DATABASE_URL: "of staging",
	});
	assert.deepEqual((await manifest("--all", "--key", "DATABASE_URL")).length, 5);
});

test("the token reads this environment of this realm, until it ends, and nothing else", async () => {
	const items = await manifest("--expires", "30d");
	const token = only(items, "Secret").stringData?.token ?? "";
	const machine = `/realms/${world.slug}/machines/eso-default-prod`;
	const { role, scopes, environment } = ok(
		await world.client.get<Record<string, string>>(machine, { token: world.admin.token }),
	);
	assert.deepEqual([role, scopes, environment], ["viewer", "read", "prod"]);
	const { tokens } = ok(
		await world.client.get<{ tokens: Record<string, string>[] }>(`${machine}/tokens?limit=100`, {
			token: world.admin.token,
		}),
	);
	const made = tokens.find(({ prefix = "-" }) => token.startsWith(prefix));
	const days = (Date.parse(made?.expires_at ?? "") - Date.now()) / (24 * 60 * 60 * 1000);
	assert.ok(days > 29.9 && days <= 30, String(days));
	const status = async (path: string) => (await world.client.get(path, { token })).status;
	assert.equal(await status(`/eso/${world.slug}?env=prod`), 200);
	assert.equal(await status(`/eso/${world.slug}?env=dev`), 403);
	assert.equal(
		(await world.client.post(`/realms/${world.slug}/secrets`, { key: "K", value: "v", environment: "prod" }, { token }))
			.status,
		403,
	);
});

test("credentials of an engine are made by the operator's generator", { skip: skipWithoutRedis }, async () => {
	const items = await manifest("--generator", "keyvalue:readonly,ttl=1h", "--namespace", "cache");
	assert.deepEqual(
		items.map(({ kind }) => kind),
		["Secret", "Webhook", "ExternalSecret"],
	);
	const [generator, wanted] = [only(items, "Webhook"), only(items, "ExternalSecret")];
	assert.equal(generator.apiVersion, "generators.external-secrets.io/v1alpha1");
	assert.deepEqual(wanted.spec.dataFrom, [
		{
			sourceRef: { generatorRef: { apiVersion: generator.apiVersion, kind: "Webhook", name: generator.metadata.name } },
		},
	]);
	assert.equal(wanted.spec.refreshInterval, "30m");
	const { status, value } = await fetchAs(items, generator.spec);
	assert.equal(status, 200);
	const { username, password } = value as { username: string; password: string };
	assert.equal(await (await redis.login(username, password)).send("GET", "nothing"), null);
});

test("--dry-run makes no token; the address of a cluster is another one; what is wrong is reported before a token is made", async () => {
	const machines = async () =>
		ok(await world.client.get<{ machines: object[] }>(`/realms/${world.slug}/machines`, { token: world.admin.token }))
			.machines;
	const before = await machines();
	const items = await manifest("--dry-run", "--namespace", "dry", "--url", "https://secrets.example.com/");
	assert.equal(only(items, "Secret").stringData?.token, "svc_REPLACE_ME");
	assert.equal(
		webhookOf(only(items, "SecretStore")).url,
		`https://secrets.example.com/api/v1/eso/${world.slug}?env=prod`,
	);
	for (const args of [
		["--namespace", "Apps"],
		["--expires", "soon"],
		["--expires", "91d"],
		["--generator", "keyvalue"],
		["--generator", "keyvalue:readonly,ttl=1m"],
		["--key", "a/b", "--key", "a.b"],
		["--url", "http://secrets.example.com"],
	])
		assert.equal(
			(await cli.run(["eso", "manifest", "--realm", world.slug, "--namespace", "dry", ...args])).code,
			2,
			args.join(" "),
		);
	assert.deepEqual(await machines(), before);
});
