import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ok, refused } from "../harness/expect.ts";
import { freePort } from "../peers/free-port.ts";
import {
	ALICE,
	ber,
	ENDLESS,
	entry,
	type FakeLdapOptions,
	flood,
	honest,
	honestBut,
	loop,
	type Reply,
	type Request,
	result,
	silence,
	startFakeLdap,
} from "../peers/ldap-fake.ts";
import { type LdapWorld, startLdapWorld } from "./ldap-world.ts";

/** Milliseconds that a whole login may take; the server waits four seconds for a directory. */
const LIMIT_MS = 5000;
/** Milliseconds that the server waits for a directory. */
const WAITS_MS = 4000;
const PASSWORD = "canary of a password";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let world: LdapWorld;
before(async () => {
	world = await startLdapWorld();
	ends.defer(world.close);
});

async function directory(name: string, reply: (request: Request) => Reply, options?: FakeLdapOptions) {
	const fake = await startFakeLdap(reply, options);
	ends.defer(fake.stop);
	await world.set(name, { url: fake.url, ca_cert: fake.ca });
	return fake;
}

const LIES: readonly (readonly [
	name: string,
	status: number,
	reply: (request: Request) => Reply,
	options?: FakeLdapOptions,
])[] = [
	["never-answers", 503, silence],
	["never-binds", 503, honestBut("bind", silence)],
	["drops-at-once", 503, honest, { greet: (socket) => void socket.destroy() }],
	["drops-mid-bind", 503, honestBut("bind", () => "drop")],
	["resets-mid-search", 503, honestBut("search", () => (socket) => void socket.resetAndDestroy())],
	["speaks-http", 503, () => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
	["loops", 503, honestBut("search", ({ id }) => loop(id))],
	["floods", 503, () => flood(ENDLESS)],
	["floods-entries", 401, honestBut("search", ({ id }) => flood(entry(id, ALICE, { cn: ["x".repeat(1000)] })))],
	["unknown-code", 503, honestBut("bind", (request) => result(request, 99))],
	["refers", 503, honestBut("search", (request) => result(request, 10, ber(0xa3, ber(0x04, "ldap://127.0.0.1:1/"))))],
	[
		"two-entries",
		401,
		honestBut("search", (request) =>
			Buffer.concat([entry(request.id, "uid=a,dc=test", { entryUUID: ["1"] }), honest(request)]),
		),
	],
	["nobody", 401, honestBut("search", (request) => result(request, 0))],
	["refuses", 401, honestBut("bind", (request) => result(request, 49))],
	["takes-everybody", 401, honestBut("who_am_i", (request) => result(request, 0, ber(0x8b, "")))],
	["another-name", 503, honest, { tls: true, names: ["ldap.example.com"] }],
];

/** Directories that the server gives up when the time is over. */
const SLOW = ["never-answers", "never-binds", "loops"];

/** Tries a login; returns the milliseconds until the answer. */
async function tryLie(name: string, status: number): Promise<number> {
	const began = performance.now();
	const answer = await world.signIn(name, `ada-${name}`, PASSWORD);
	const took_ms = performance.now() - began;
	assert.ok(took_ms < LIMIT_MS, `${name} took ${took_ms} ms`);
	refused(answer, status, status === 401 ? "invalid_credentials" : "provider_unavailable");
	assert.doesNotMatch(answer.text, /canary|ada-|uid=/, name);
	return took_ms;
}

async function inOrder(lies: typeof LIES): Promise<void> {
	for (const [name, status] of lies) await tryLie(name, status);
}

test("whatever a directory does, the login ends in time, nobody comes in, and everybody else is served", {
	timeout: 300_000,
}, async () => {
	for (const [name, , reply, options] of LIES) await directory(name, reply, options);
	await directory("honest", honest);
	let isOver = false;
	const served = async () => {
		let longest_ms = 0;
		while (!isOver) {
			const began = performance.now();
			ok(await world.client.get("/auth/providers"));
			longest_ms = Math.max(longest_ms, performance.now() - began);
		}
		return longest_ms;
	};
	const others = served();
	const quick = LIES.filter(([name]) => !SLOW.includes(name));
	let slow_ms: number[];
	try {
		// The slow ones run in parallel; the others do not wait for each other's threads.
		[slow_ms] = await Promise.all([Promise.all(SLOW.map((name) => tryLie(name, 503))), inOrder(quick)]);
	} finally {
		isOver = true;
	}
	const longest_ms = await others;
	assert.ok(longest_ms < Math.min(...slow_ms) / 2, `somebody else waited for ${longest_ms} ms of ${slow_ms}`);
	assert.equal(ok(await world.signIn("honest", "alice", PASSWORD)).user.email, "alice@example.com");
	const reasons = new Map((await world.refusals()).map(({ data }) => [data.provider, data.reason]));
	assert.equal(reasons.get("two-entries"), "unknown");
	assert.equal(reasons.get("takes-everybody"), "password");
	assert.equal(reasons.size, LIES.length);
	assert.doesNotMatch(world.server.stderr() + world.server.stdout(), /canary|unhandled|uncaught|\n\s+at /i);
});

test("a password that proves nothing, and a name that is none, never reach the directory", async () => {
	const fake = await directory("believes", honest);
	for (const password of ["", undefined]) {
		refused(
			await world.client.post("/auth/ldap/believes/login", { username: "alice", password }),
			400,
			"missing_field",
		);
	}
	for (const password of [" ", "\t\n\u2003", "\0", `${PASSWORD}\0`, "x".repeat(1025), "x".repeat(1_000_000)]) {
		refused(await world.signIn("believes", `ada-${password.length}`, password), 401, "invalid_credentials");
	}
	refused(await world.signIn("believes", "", PASSWORD), 400, "missing_field");
	for (const username of [" ", "alice\0", "x".repeat(10_240)]) {
		refused(await world.signIn("believes", username, PASSWORD), 401, "invalid_credentials");
	}
	assert.equal(fake.connections(), 0);
	await world.signIn("believes", "alice", PASSWORD);
	assert.ok(fake.connections() > 0);
});

test("a directory that cannot be asked says what to look at", async () => {
	await world.set("away", { url: `ldap://127.0.0.1:${await freePort()}` });
	const { status, message: said } = await world.tested("away");
	assert.deepEqual([status, /\blistens\b/.test(said ?? "")], ["unhealthy", true]);
	const answer = await world.signIn("away", "alice", PASSWORD);
	refused(answer, 503, "provider_unavailable");
	assert.match(answer.text, /\blistens\b/);
});

test("a login that comes while another of the same account waits for a silent directory does not wait for twice as long", async () => {
	await directory("silent-for-three", silence);
	const answered: number[] = [];
	const signIn = () =>
		world.signIn("silent-for-three", "ada", PASSWORD).finally(() => void answered.push(performance.now()));
	const answers = await Promise.all([signIn(), signIn(), signIn()]);
	const [first = 0, , last = Number.POSITIVE_INFINITY] = answered;
	assert.ok(last - first < WAITS_MS, `the last was answered ${last - first} ms after the first`);
	assert.deepEqual(
		answers.map(({ status }) => status),
		[503, 429, 429],
	);
});
