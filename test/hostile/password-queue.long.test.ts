import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, type TestContext, test } from "node:test";
import { installHostile } from "../engines/hostile/hostile-engines.ts";
import { type Api, api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import { ok } from "../harness/expect.ts";
import { machine, PASSWORD, type Person, person, realm } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";
import { githubClaims, startIssuer } from "../peers/issuer.ts";

/** Number of attacking sources, of checks that each may have waiting, and of checks running meanwhile. */
const SOURCES = 6;
const WAITING = 4;
const RUNNING = 2;

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;
let engines: string;

before(async () => {
	engines = await mkdtemp(join(tmpdir(), "svc-engines-"));
	await installHostile(engines, { slow: "hostile/slow.mjs" });
	server = await startServer({ env: { SVC_PLUGINS_DIR: engines, SVC_TRUSTS_PRIVATE_ISSUERS: "127.0.0.1" } });
	client = api(server);
	ada = await person(client, "ada");
	bob = await person(client, "bob");
});
after(async () => {
	await server.close();
	await rm(engines, { recursive: true });
});

interface Attempt {
	status: number;
	message: string;
	wait: string | undefined;
	ended_ms: number;
}

/** Agents of the requests under way. */
const agents = new Set<Agent>();

/** Posts a body, or gets without one, from an address and a connection of its own. */
async function ask(
	localAddress: string,
	path: string,
	body?: object,
	token?: string,
): Promise<[IncomingMessage, string]> {
	const { hostname, port } = new URL(server.url);
	const agent = new Agent({ localAddress, ca: server.ca });
	agents.add(agent);
	const headers = {
		...(body && { "content-type": "application/json" }),
		...(token && { authorization: `Bearer ${token}` }),
	};
	const method = body === undefined ? "GET" : "POST";
	const outgoing = request({ agent, hostname, port, method, path: `/api/v1${path}`, headers });
	outgoing.end(body && JSON.stringify(body));
	const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
	const received = await text(answer);
	agent.destroy();
	agents.delete(agent);
	return [answer, received];
}

/** Signs in from an address and a connection of its own. */
async function attempt(localAddress: string, email: string, password = "not the password"): Promise<Attempt> {
	const [answer, body] = await ask(localAddress, "/auth/login", { email, password });
	const message = (JSON.parse(body) as { error?: { message: string } }).error?.message ?? "";
	return { status: answer.statusCode ?? 0, message, wait: answer.headers["retry-after"], ended_ms: performance.now() };
}

/** Guesses passwords of people who do not exist. */
const flood = (source: string, count: number) =>
	Array.from({ length: count }, (_, index) => attempt(source, `nobody-${index}@example.test`));

const isEarlier = (one: Attempt, others: readonly Attempt[]) =>
	others.filter(({ ended_ms }) => ended_ms > one.ended_ms).length;

test("eighty logins of nobody from one address are refused beyond those that may wait, and everybody else signs in", async () => {
	const flooding = flood("127.0.4.1", 80);
	const others = [
		...[attempt("127.0.0.1", ada.email, PASSWORD), attempt("127.0.0.1", bob.email, PASSWORD)],
		...[attempt("127.0.4.2", ada.email, PASSWORD), attempt("127.0.4.3", bob.email, PASSWORD)],
	];
	for (const { status, message } of await Promise.all(others)) assert.equal(status, 200, message);
	const answers = await Promise.all(flooding);
	const refused = answers.filter(({ status }) => status === 429);
	assert.ok(refused.length >= 80 - 4 * (WAITING + RUNNING), `${refused.length} were refused`);
	for (const { message, wait } of refused) {
		assert.match(message, /\(password_checks_waiting_per_source\)/);
		assert.equal(wait, "1");
	}
	for (const { status } of answers) assert.ok(status === 429 || status === 401);
});

test("an owner signs in from a known source ahead of strangers from many", async () => {
	const flooding = Array.from({ length: SOURCES }, (_, index) => flood(`127.0.5.${index + 1}`, WAITING)).flat();
	await Promise.race(flooding);
	const owner = await attempt("127.0.0.1", ada.email, PASSWORD);
	assert.equal(owner.status, 200, owner.message);
	const waited = await Promise.all(flooding);
	const later = isEarlier(owner, waited);
	assert.ok(later > (SOURCES * WAITING) / 2, `${later} of ${waited.length} ended after the owner's`);
	for (const { status } of waited) assert.equal(status, 401);
});

test("an owner is not locked out of a known source by guesses from many others, nor by its neighbours", async () => {
	const guesses = Array.from({ length: SOURCES }, (_, index) => [`127.0.6.${index + 1}`, ada.email] as const);
	const neighbours = Array.from({ length: 6 }, () => ["127.0.0.1", "nobody@example.test"] as const);
	for (const [source, email] of [...guesses, ...neighbours]) await attempt(source, email);
	assert.equal((await attempt("127.0.0.1", "nobody@example.test")).status, 429, "the neighbour has to wait");
	for (let count = 0; count < 6; count++) await attempt("127.0.6.1", ada.email);
	assert.equal((await attempt("127.0.6.1", ada.email, PASSWORD)).status, 429, "so does who guesses at the account");
	assert.equal((await attempt("127.0.0.1", ada.email, PASSWORD)).status, 200);
});

test("while 36 addresses guess at an account, strangers wait, and its owner signs in where it is known", async () => {
	for (let round = 0; round < 3; round++)
		await Promise.all(Array.from({ length: 36 }, (_, index) => attempt(`127.0.8.${index + 1}`, ada.email)));
	assert.equal((await attempt("127.0.9.1", ada.email, PASSWORD)).status, 429, "a stranger with the password, too");
	assert.equal((await attempt("127.0.0.1", ada.email, PASSWORD)).status, 200);
});

test("what is known outlives a restart", async () => {
	await server.restart();
	const flooding = Array.from({ length: SOURCES }, (_, index) => flood(`127.0.7.${index + 1}`, WAITING)).flat();
	await Promise.race(flooding);
	const owner = await attempt("127.0.0.1", bob.email, PASSWORD);
	assert.equal(owner.status, 200, owner.message);
	const later = isEarlier(owner, await Promise.all(flooding));
	assert.ok(later > (SOURCES * WAITING) / 2, `${later} ended after the owner's`);
});

/** Sets providers whose addresses take connections and answer nothing. @returns a function that ends them */
async function setSilentProviders(): Promise<() => void> {
	const sockets: Socket[] = [];
	const silent = createServer((socket) => void sockets.push(socket.on("error", () => undefined)));
	await once(silent.listen(0, "127.0.0.1"), "listening");
	const { port } = silent.address() as AddressInfo;
	const set = async (name: string, provider: object) =>
		ok(await client.put(`/auth/providers/${name}`, provider, { token: ada.token }));
	await set("directory", {
		type: "ldap",
		config: { url: `ldap://127.0.0.1:${port}`, user_base_dn: "ou=people,dc=test" },
	});
	await set("issuer", {
		type: "oidc",
		config: { issuer: `https://127.0.0.1:${port}`, client_id: "svc", client_secret: "a secret" },
	});
	return () => {
		silent.close();
		for (const socket of sockets) socket.destroy();
	};
}

/** Makes a machine whose issuer is silent when it is asked for its keys. @returns the body of an exchange */
async function setSilentIssuer(t: TestContext, slug: string): Promise<object> {
	const issuer = await startIssuer();
	t.after(issuer.stop);
	const { name } = await machine(client, ada, slug);
	const audience = "https://svc.example.com";
	const claims = { repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main", event_name: "push" };
	const trust = { type: "github", issuer: issuer.issuer, ca_cert: issuer.ca_cert, audience, claims };
	ok(await client.put(`/realms/${slug}/machines/${name}/trusts/ci`, trust, { token: ada.token }));
	issuer.faults = { keys: { does: "hang" } };
	// Forgets the keys.
	await server.restart();
	const jwt = issuer.mint(githubClaims(issuer.issuer, audience, Math.floor(Date.now() / 1000)));
	return { realm: slug, machine: name, jwt };
}

/** Requests that are sent at once, to wait. */
const OPEN = 88;

/** Requests that wait for a password check, a provider, an issuer or an engine, each from its source. */
const waitsOf = (
	slug: string,
	exchange: object,
): [what: string, ask: (source: string, at: number) => Promise<unknown>][] => [
	["sign in", (source, at) => attempt(source, `nobody-${at}@example.test`)],
	[
		"register",
		(source, at) => ask(source, "/auth/register", { email: `waits-${at}@example.test`, password: PASSWORD, name: "" }),
	],
	[
		"change a password",
		(source) =>
			ask(source, "/auth/password", { current_password: "not the password", new_password: PASSWORD }, bob.token),
	],
	[
		"sign in at a directory",
		(source, at) => ask(source, "/auth/ldap/directory/login", { username: `nobody-${at}`, password: PASSWORD }),
	],
	["sign in at a provider", (source) => ask(source, "/auth/oidc/issuer/login")],
	["exchange a JWT", (source) => ask(source, "/auth/jwt", exchange)],
	[
		"call an engine",
		(source) => ask(source, `/realms/${slug}/engines/slow/generate`, { of: "a", wait_ms: 4000 }, ada.token),
	],
];

test("requests that wait for a password check, a provider, an issuer or an engine hold none of the slots", async (t) => {
	t.after(await setSilentProviders());
	const { slug } = await realm(client, ada);
	ok(await client.put("/engines/slow/config", { allowed_realms: ["*"] }, { token: ada.token }));
	const exchange = await setSilentIssuer(t, slug);
	for (const [row, [what, wait]] of waitsOf(slug, exchange).entries()) {
		const asked: Promise<unknown>[] = [];
		/** Asks; and again, of a server that remembers no guess and no issuer, if a busy machine had answered all before anyone looked. */
		const fill = async () => {
			if (agents.size > 0) return;
			if (asked.length > 0) await server.restart();
			for (let at = 0; at < OPEN; at++)
				asked.push(wait(`127.1.${row}.${Math.floor(at / WAITING) + 1}`, asked.length).catch(() => undefined));
		};
		await eventually(`more ${what} than there are slots, without one`, async () => {
			await fill();
			const { text: metrics } = await client.send("GET", "/metrics");
			const value = (series: string) => Number(metrics.split(`\n${series} `)[1]?.split("\n", 1)[0]);
			const [busy, held, late] = [
				value('svc_connections{state="busy"}'),
				value('svc_limit_used{limit="requests"}'),
				value('svc_limit_used{limit="requests_waiting_for_commits"}'),
			];
			return busy > 33 && held <= 4 && late === 0;
		});
		for (const agent of agents) agent.destroy();
		agents.clear();
		await Promise.all(asked);
	}
});
