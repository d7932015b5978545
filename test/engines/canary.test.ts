/*
 * Engines' secrets are written down nowhere: neither those in their configurations, nor those they make, nor those somebody sends for
 * validation. The test first runs many successes and failures, then searches everything that was written.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { createAuthority } from "../../packages/x509/src/index.ts";
import type { Answer } from "../harness/client.ts";
import { type EngineWorld, startEngineWorld } from "../harness/engine-world.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { installEngine } from "../harness/install-engine.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { Canaries, filesBelow } from "../hostile/canaries.ts";
import { freePort } from "../peers/free-port.ts";
import { type FakeOrchestrator, startFakeOrchestrator } from "../peers/kubernetes-fake.ts";
import { type Mongo, skipWithoutMongo, startMongo } from "../peers/mongo.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../peers/redis.ts";
import { installHostile } from "./hostile/hostile-engines.ts";
import { childrenOf } from "./hostile/processes.ts";

type Body = Record<string, unknown>;

/** Somebody else's engine. */
const KEEPSAKE = readFileSync(new URL("./hostile/fixtures/keepsake.sh", import.meta.url), "utf8");

const skipMongo = await skipWithoutMongo();

const canaries = new Canaries();
/** The administrators' secrets, which must not appear even in a credential. */
const ofAdministrators = new Canaries();
const findings: string[] = [];

let folder: string;
let world: EngineWorld;
let redis: Redis | undefined;
let mongo: Mongo | undefined;
let orchestrator: FakeOrchestrator;
let authority: { certificate: string; private_key: string };
/** A name that may be written down, which proves that the search works. */
let openName = "";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	folder = await mkdtemp(join(tmpdir(), "svc-canary-"));
	ends.defer(() => rm(folder, { recursive: true }));
	await installHostile(folder, { masked: "hostile/masked.mjs" });
	const capabilities = ["engine:dynamic_credentials"];
	await installEngine(folder, "keepsake", { file: "keepsake.sh", text: KEEPSAKE }, { capabilities });
	authority = await createAuthority({ common_name: "CA", organization: "", now: new Date(), randomBytes });
	orchestrator = await startFakeOrchestrator();
	ends.defer(orchestrator.stop);
	redis = skipWithoutRedis === false ? await startRedis() : undefined;
	ends.defer(() => redis?.stop());
	mongo = skipMongo === false ? await startMongo() : undefined;
	ends.defer(() => mongo?.stop());
	world = await startEngineWorld({ env: { SVC_PLUGINS_DIR: folder } });
	ends.defer(world.close);
	for (const secret of [redis?.password, passwordIn(mongo?.uri ?? ""), orchestrator.token]) {
		if (secret !== undefined) hold(secret, "an administrator's secret");
	}
	holdKey(authority.private_key, "the authority's key");
});

function passwordIn(uri: string): string | undefined {
	return /:\/\/[^:]+:([^@]+)@/.exec(uri)?.[1];
}

function hold(secret: string, what: string): string {
	canaries.add(secret, what);
	ofAdministrators.add(secret, what);
	return secret;
}

/** Searches for a PEM key line by line. */
function holdKey(pem: string, what: string): void {
	for (const line of linesOf(pem)) hold(line, what);
}

const linesOf = (pem: string) => pem.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----"));

/** A secret that belongs to nobody, for a field that is wrong. */
const newSecret = (what: string) => hold(canaries.plant("nowhere", what), what);

/** A secret in a field that is not secret, so the person who set it sees it. */
const misplaced = (what: string) => canaries.plant("nowhere", what);

/** Records a finding when the answer contains an administrator's secret or, for an error, any secret. */
function inspect<T>(answer: Answer<T>): Answer<T> {
	findings.push(...ofAdministrators.findIn("error", answer.text + JSON.stringify(answer.headers)));
	if (answer.status >= 400) findings.push(...canaries.findIn("error", answer.text));
	return answer;
}

const configure = async (type: string, fields: object) => inspect(await world.configure(type, fields));

/** Sets a configuration that is refused or cannot make anything. */
async function fail(type: string, params: object, fields: object): Promise<void> {
	if ((await configure(type, fields)).status !== 200) return;
	const answer = inspect(await world.generate(type, params));
	assert.ok(answer.status >= 400, answer.text);
}

/** Sets a configuration that works, and reads everything else that shows it. */
async function succeed(type: string, fields: object): Promise<void> {
	assert.equal(ok(await configure(type, fields)).status, "healthy");
	const { token } = world.admin;
	ok(inspect(await world.client.get(`/engines/${type}/config`, { token })));
	ok(inspect(await world.client.post(`/engines/${type}/ping`, undefined, { token })));
}

/** Makes a credential; from then on its fields are secrets, except those in `open`. */
async function make(type: string, params: object, ...open: string[]): Promise<Body> {
	const made = ok(inspect(await world.generate<Body>(type, params)));
	for (const [name, value] of Object.entries(made)) {
		if (open.includes(name) || typeof value !== "string" || /^\d{4}-/.test(value)) continue;
		for (const text of value.includes("-----BEGIN") ? linesOf(value) : [value]) canaries.add(text, `${type}'s ${name}`);
	}
	return made;
}

const validate = async (type: string, params: object) => inspect(await world.validate<Body>(type, params));

function assertFoundNothing(): void {
	assert.deepEqual([...new Set(findings)], []);
}

async function tryKeyValue(): Promise<void> {
	const { address, password, admin } = redis ?? assert.fail();
	for (const fields of [
		{ address, password: newSecret("a wrong password") },
		{ address: `127.0.0.1:${await freePort()}`, password: newSecret("a password for nobody") },
		{ address: newSecret("an address"), password },
		{ address, password: [newSecret("a password in a list")] },
		{ address, password, max_ttl: newSecret("a max_ttl") },
		{ address, password, [newSecret("a field")]: "x" },
	]) {
		await fail("keyvalue", {}, fields);
	}
	await admin(
		"ACL",
		"SETUSER",
		"clerk",
		"on",
		`>${hold("canary-of-the-clerk", "the clerk's password")}`,
		"+@all",
		"-acl|setuser",
	);
	await succeed("keyvalue", { address, username: "clerk", password: "canary-of-the-clerk" });
	refused(inspect(await world.generate("keyvalue", {})), 400, "engine_error");
	await succeed("keyvalue", { address, password });
	const { username } = await make("keyvalue", {}, "username", "address");
	openName = String(username);
	ok(await validate("keyvalue", { username }));
	await make("keyvalue", { ttl: "1h" }, "username", "address");
	assertFoundNothing();
}

async function tryDocumentDb(): Promise<void> {
	const { uri } = mongo ?? assert.fail();
	const wrong = newSecret("a wrong password in a connection string");
	const odd = newSecret("a password with signs");
	for (const connection_uri of [
		uri.replace(passwordIn(uri) ?? "", wrong),
		`mongodb://root:${odd}%2F%40@127.0.0.1:${await freePort()}/?serverSelectionTimeoutMS=500`,
		`mongodb://root:${newSecret("a password with an unknown option")}@127.0.0.1/?nothing=1`,
		`mongodb://root:${newSecret("a password without a host")}@`,
		newSecret("no connection string"),
	]) {
		await fail("documentdb", { database: "app" }, { connection_uri, database: "app" });
	}
	await succeed("documentdb", { connection_uri: uri, database: "app" });
	const { username } = await make("documentdb", { database: "app" }, "username", "database", "auth_database");
	ok(await validate("documentdb", { username }));
	assertFoundNothing();
}

async function tryContainerOrch(): Promise<void> {
	const { url: api_server, token: bearer_token, ca: ca_cert } = orchestrator;
	for (const fields of [
		{ api_server, ca_cert, bearer_token: newSecret("a wrong bearer token") },
		{ api_server, ca_cert, bearer_token: `${newSecret("a bearer token of two lines")}\r\nX-Other: 1` },
		{ api_server: `https://127.0.0.1:${await freePort()}`, ca_cert, bearer_token: newSecret("a token for nobody") },
		{ api_server: `https://user:${misplaced("a password in an address")}@127.0.0.1/`, ca_cert, bearer_token },
		{ api_server, bearer_token, ca_cert: misplaced("a secret in place of a certificate") },
	]) {
		await fail("containerorch", { role: "viewer" }, fields);
	}
	await succeed("containerorch", { api_server, bearer_token, ca_cert });
	const body = `the token ${bearer_token} is not welcome`;
	orchestrator.fault("create_binding", { does: "answer", status: 403, body, times: 1 });
	refused(inspect(await world.generate("containerorch", { role: "viewer" })), 400, "engine_error");
	const open = ["namespace", "service_account", "role_binding", "cluster_role"];
	const { service_account } = await make("containerorch", { role: "viewer" }, ...open);
	ok(await validate("containerorch", { service_account }));
	assertFoundNothing();
}

async function tryPki(): Promise<void> {
	const { certificate: ca_certificate, private_key: ca_private_key } = authority;
	for (const fields of [
		{ ca_certificate, ca_private_key: newSecret("a key that is none") },
		{ ca_certificate, ca_private_key: ca_private_key.replace(/\n.{4}/, "\nAAAA") },
		{ ca_certificate: misplaced("a secret in place of the authority's certificate"), ca_private_key },
	]) {
		await fail("pki", { common_name: "a.example" }, fields);
	}
	refused(await configure("pki", { ca_certificate }), 400);
	await succeed("pki", { ca_certificate, ca_private_key });
	const open = ["certificate", "ca_certificate", "common_name", "serial"];
	const { private_key } = await make("pki", { common_name: "a.example" }, ...open);
	assert.equal(ok(await validate("pki", { certificate: private_key })).valid, false);
	assertFoundNothing();
}

async function tryTotp(): Promise<void> {
	const { secret } = await make("totp", { issuer: "svc", account: "ada" });
	for (const code of ["000000", newSecret("a code")]) ok(await validate("totp", { secret, code }));
	ok(await validate("totp", { secret: newSecret("a seed"), code: "000000" }));
	assertFoundNothing();
}

async function tryOthers(): Promise<void> {
	const password = newSecret("the password of somebody's engine");
	ok(await configure("masked", { password }));
	const refusal = inspect(await world.generate<ErrorBody>("masked", {}));
	refused(refusal, 400, "engine_error");
	assert.equal(refusal.body.error.message, "login with ******** failed");
	const { token } = await make("keepsake", {});
	const kept = (await world.leases()).filter(({ engine }) => engine === "keepsake");
	assert.equal(kept.length, 1);
	assert.ok(String(token).length > 40);
	assertFoundNothing();
}

suite("while all engines work and fail", { concurrency: true }, () => {
	test("keyvalue: neither the administrator's password nor a credential's", { skip: skipWithoutRedis }, tryKeyValue);
	test("documentdb: neither the connection string's password nor a credential's", { skip: skipMongo }, tryDocumentDb);
	test("containerorch: neither its bearer token nor a service account's", tryContainerOrch);
	test("pki: neither the authority's key nor a certificate's", tryPki);
	test("totp: no seed", tryTotp);
	test("engines of others: what they say is masked, and what they make is sealed", tryOthers);
});

/** Variables that pass a secret to an engine's process. Spec: ENGINES › Container orchestrator engine configuration, Certificate authority engine */
const NAMED = /^(?:SVC_ORCH_TOKEN|SVC_PKI_CA_KEY|SVC_TEST_PASSWORD)=/;

test("arguments and environments have no secret, but for the variables that are named", async () => {
	const engines = childrenOf(world.server.pid).map(({ pid }) => pid);
	assert.ok(engines.length >= 4, `${engines.length} engines`);
	for (const pid of [world.server.pid, ...engines]) {
		const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
		const written = environment.filter((variable) => !NAMED.test(variable)).join("\n");
		findings.push(
			...canaries.findIn("error", readFileSync(`/proc/${pid}/cmdline`)),
			...canaries.findIn("error", written),
		);
	}
	assertFoundNothing();
});

/** Events that all of this must have left, whichever targets exist. */
const TOLD = ["engine.config.set", "engine.generate", "engine.error", "lease.created", "lease.revoked"];

test("metrics, health, documents, lists and the audit log have none of it", async () => {
	const { client, admin } = world;
	const { token } = admin;
	const paths = ["health", "openapi.json", "engines", "leases?limit=100"].map((name) => `/api/v1/${name}`);
	for (const path of ["/metrics", ...paths]) {
		const { text, status } = await client.send("GET", path, { token });
		assert.equal(status, 200, path);
		findings.push(...canaries.findIn("metrics", text));
	}
	const said = await events(client, admin);
	const types = new Set(said.map(({ type }) => type));
	for (const type of TOLD) assert.ok(types.has(type), `an event of ${type}`);
	findings.push(...canaries.findIn("events", JSON.stringify(said)));
	assertFoundNothing();
});

test("neither the log nor any file has it in plain", async () => {
	await world.server.stop();
	const all = Buffer.concat([...(await filesBelow(world.server.data)).values()]);
	if (openName !== "") assert.ok(all.includes(openName), "the search finds what may be there");
	findings.push(
		...canaries.findIn("data", all),
		...canaries.findIn("stdout", world.server.stdout()),
		...canaries.findIn("stderr", world.server.stderr()),
	);
	assertFoundNothing();
	const expected = 20 + (redis === undefined ? 0 : 10) + (mongo === undefined ? 0 : 8);
	assert.ok(canaries.size >= expected, `${canaries.size} secrets of ${expected}`);
	assert.match(world.server.stderr(), /"event":"engine\.stderr"/, "engines said something");
});
