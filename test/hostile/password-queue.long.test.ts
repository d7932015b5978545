import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { type Api, api } from "../harness/client.ts";
import { PASSWORD, type Person, person } from "../harness/fixtures.ts";
import { type Server, startServer } from "../harness.ts";

/** Number of attacking sources, of checks that each may have waiting, and of checks running meanwhile. */
const SOURCES = 6;
const WAITING = 4;
const RUNNING = 2;

let server: Server;
let client: Api;
let ada: Person;
let bob: Person;

before(async () => {
	server = await startServer();
	client = api(server);
	ada = await person(client, "ada");
	bob = await person(client, "bob");
});
after(() => server.close());

interface Attempt {
	status: number;
	message: string;
	wait: string | undefined;
	ended_ms: number;
}

/** Signs in from an address and a connection of its own. */
async function attempt(localAddress: string, email: string, password = "not the password"): Promise<Attempt> {
	const { hostname, port } = new URL(server.url);
	const agent = new Agent({ localAddress, ca: server.ca });
	const headers = { "content-type": "application/json" };
	const outgoing = request({ agent, hostname, port, method: "POST", path: "/api/v1/auth/login", headers });
	outgoing.end(JSON.stringify({ email, password }));
	const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
	const body = await text(answer);
	agent.destroy();
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
		assert.match(message, /\b4 password checks\b/);
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

test("of an account that 36 addresses guess at strangers wait, and its owner signs in where it is known", async () => {
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
