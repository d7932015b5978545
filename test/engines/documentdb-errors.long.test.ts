import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { type EngineWorld, eventually, type Lease, startEngineWorld } from "../harness/engine-world.ts";
import { ok, refused } from "../harness/expect.ts";
import { realm } from "../harness/fixtures.ts";
import type { ErrorBody } from "../harness/resources.ts";
import { type FakeMongo, type Fault, startFakeMongo } from "../peers/mongo-fake.ts";
import { startProxy } from "../peers/proxy.ts";

/* A database that fails, lies and falls silent, at each step. The faults that leave no lease open share one target; each other has its own. */

interface Credential {
	username: string;
}

/** Longest that the core waits for a database, to find it and to get its answer; with a margin for a busy machine. */
const DEADLINE_MS = 20_000;

let world: EngineWorld;
let common: Setup;
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	const fake = await startFakeMongo();
	ends.defer(fake.stop);
	world = await startEngineWorld();
	ends.defer(world.close);
	common = await setUpAt(fake, fake.uri);
});

const failure = (code: number, errmsg = "no"): Fault => ({ applies: false, answer: { ok: 0, code, errmsg } });

const messageOf = ({ body }: { body: unknown }) => (body as ErrorBody).error.message;

/** A database, and a realm configured for it. */
interface Setup {
	readonly fake: FakeMongo;
	readonly slug: string;
	configure(more?: object): Promise<string>;
	generate(params?: object): ReturnType<typeof generateAt>;
	validate(username: string): ReturnType<EngineWorld["validate"]>;
	/** Returns the newest lease of the realm. */
	lease(): Promise<Lease>;
	/** Waits until that lease is in the state, at most for the given number of seconds. */
	until(state: string, seconds?: number): Promise<Lease>;
}

const generateAt = (slug: string, params: object) =>
	world.generate<Credential>("documentdb", { database: "app", ...params }, slug);

async function setUpFor(t: TestContext): Promise<Setup> {
	const fake = await startFakeMongo();
	t.after(fake.stop);
	return setUpAt(fake, fake.uri);
}

async function setUpAt(fake: FakeMongo, connection_uri: string): Promise<Setup> {
	const { slug } = await realm(world.client, world.admin);
	const configure = async (more: object = {}) =>
		ok(await world.configure("documentdb", { connection_uri, database: "app", ...more }, slug)).status;
	const lease = async () => {
		const [newest] = await world.leases(undefined, slug);
		assert.ok(newest !== undefined);
		return newest;
	};
	await configure();
	return {
		fake,
		slug,
		configure,
		generate: (params = {}) => generateAt(slug, params),
		validate: (username) => world.validate("documentdb", { username }, slug),
		lease,
		until: async (state, seconds) => {
			await eventually(`the lease is ${state}`, async () => (await lease()).state === state, seconds);
			return lease();
		},
	};
}

/** Outcomes of the first step, which checks that the name is free. Nothing has been written at that point. */
const BEFORE: [what: string, fault: Fault, status: 400 | 503, message: RegExp][] = [
	["the right is missing", failure(13, "not authorized"), 400, /: not authorized$/],
	["the login is refused", failure(18, "Authentication failed."), 400, /: Auth/],
	["an unknown error", failure(77_777, "a\r\nb\u001b[31m"), 400, /: a\?\?b\?\[31m$/],
	["it is no primary", failure(10_107, "not primary"), 503, /: not primary$/],
	["the connection breaks", { applies: false, answer: "reset" }, 503, /\(\w+\)$/],
];
for (const [what, fault, status, message] of BEFORE) {
	test(`before anything is made, ${what}: ${status}, and nothing is written down`, async () => {
		const { fake, slug, generate } = common;
		const [leases, commands] = [(await world.leases(undefined, slug)).length, fake.commands.length];
		fake.fault("usersInfo", fault);
		const answer = await generate();
		fake.fault("usersInfo", undefined);
		refused(answer, status, status === 400 ? "engine_error" : "engine_unavailable");
		assert.match(messageOf(answer), message);
		assert.equal((await world.leases(undefined, slug)).length, leases);
		assert.ok(fake.commands.slice(commands).every(({ createUser }) => createUser === undefined));
		ok(await generate());
	});
}

/** Refusals of a create, which made nothing. */
const REFUSALS: [what: string, fault: Fault][] = [
	["the right is missing", failure(13)],
	["the role is unknown there", failure(31)],
	["the name is taken", failure(51_003)],
	["the command is unknown", failure(59)],
];
for (const [what, fault] of REFUSALS) {
	test(`a create that is refused because ${what} is over: 400, and the lease is aborted`, async () => {
		const { fake, generate, lease } = common;
		fake.fault("createUser", fault);
		const answer = await generate();
		fake.fault("createUser", undefined);
		refused(answer, 400, "engine_error");
		assert.equal(answer.headers["x-lease-id"], undefined);
		assert.equal((await lease()).state, "aborted");
		assert.ok(!fake.commands.some(({ dropUser }) => dropUser !== undefined), "what is somebody else's is not dropped");
	});
}

/** Creates that may have happened: in all these cases they did. */
const UNCLEAR: [what: string, answer: Fault["answer"]][] = [
	["the connection breaks", "reset"],
	["the majority does not confirm", { ok: 1, writeConcernError: { code: 64, errmsg: "timed out" } }],
	["the primary steps down", { ok: 0, code: 189, errmsg: "stepped down" }],
	["the error is unknown", { ok: 0, code: 77_777, errmsg: "something" }],
];
for (const [what, answer] of UNCLEAR) {
	test(`a create that happens while ${what}: 503, the user is dropped, and the lease stays in doubt`, async (t) => {
		const { fake, generate, until } = await setUpFor(t);
		fake.fault("createUser", { applies: true, answer });
		refused(await generate(), 503, "engine_unavailable");
		await eventually("the user is dropped", () => fake.commands.some(({ dropUser }) => dropUser !== undefined));
		assert.deepEqual(fake.users(), []);
		const { last_error } = await until("uncertain");
		await eventually("it says why", async () => /may still land$/.test((await until("uncertain")).last_error));
		assert.notEqual(last_error, "");
	});
}

test("a create that hangs is abandoned, and cleared away when the database answers again", async (t) => {
	const { fake, generate, until } = await setUpFor(t);
	fake.fault("createUser", { applies: true, answer: "nothing" });
	fake.fault("dropUser", { applies: false, answer: "reset" });
	const began = performance.now();
	const answer = await generate();
	const took_ms = performance.now() - began;
	refused(answer, 503, "engine_unavailable");
	assert.match(answer.text, /\(MongoNetworkTimeoutError\)"/);
	assert.ok(took_ms >= 4500 && took_ms < DEADLINE_MS, `${took_ms} ms`);
	const { name } = await until("uncertain");
	assert.deepEqual(fake.users(), [name]);
	fake.fault("createUser", undefined);
	fake.fault("dropUser", undefined);
	await eventually("the user is gone", () => fake.users().length === 0);
	await eventually("it says why", async () => /may still land$/.test((await until("uncertain")).last_error));
});

test("a database that hangs from the first step on holds nobody longer than the deadline", async (t) => {
	const { fake, slug, generate, validate } = await setUpFor(t);
	fake.fault("usersInfo", { applies: false, answer: "nothing" });
	const began = performance.now();
	const answers = await Promise.all([generate(), generate(), validate("svc_00000001")]);
	for (const answer of answers) refused(answer, 503, "engine_unavailable");
	const took_ms = performance.now() - began;
	assert.ok(took_ms < DEADLINE_MS, `${took_ms} ms`);
	assert.deepEqual(await world.leases(undefined, slug), []);
});

test("a drop that is a lie is found out, is tried again, and shows in health until it is true", async (t) => {
	const { fake, generate, validate, until } = await setUpFor(t);
	const { username } = ok(await generate());
	fake.fault("dropUser", { applies: false, answer: { ok: 1 } });
	const answer = await validate(username);
	refused(answer, 400, "engine_error");
	const { attempts, last_error } = await until("revoking");
	assert.match(last_error, /\bstill exists$/);
	assert.equal(messageOf(answer), last_error);
	await eventually("it is tried again", async () => (await until("revoking")).attempts > attempts);
	const { revoking = 0 } = (await world.details()).leases.open;
	assert.ok(revoking >= 1);
	assert.deepEqual(fake.users(), [username]);
	fake.fault("dropUser", undefined);
	await until("revoked", 120);
	assert.deepEqual(fake.users(), []);
	assert.equal((ok(await validate(username)) as { valid: boolean }).valid, true);
});

test("missing rights block the target, and a configuration that is put right drains it without a restart", async (t) => {
	const { fake, slug, configure, generate, validate } = await setUpFor(t);
	const isBlocked = async () => (await world.details()).targets.some(({ status }) => status === "blocked");
	const { username } = ok(await generate());
	for (let count = 0; count < 3; count++) ok(await generate({ ttl: "4s" }));
	fake.fault("dropUser", failure(13, "not authorized on admin to execute command"));
	await eventually("the target is blocked", isBlocked);
	const message = ": not authorized on admin to execute command";
	assert.ok((await world.leases("revoking", slug)).some(({ last_error }) => last_error.endsWith(message)));
	// This is the only attempt that a blocked target gets before its next probe.
	const answer = await validate(username);
	refused(answer, 400, "engine_error");
	assert.ok(messageOf(answer).endsWith(message), answer.text);
	assert.equal(fake.users().length, 4);
	fake.fault("dropUser", undefined);
	assert.equal(await configure({ max_connections: 7 }), "healthy");
	await eventually("all are gone", async () => (await world.leases("revoked", slug)).length === 4);
	assert.deepEqual([fake.users(), await isBlocked()], [[], false]);
});

test("a target that is away while leases end is drained soon after its return", async (t) => {
	const fake = await startFakeMongo();
	const proxy = await startProxy(fake.port);
	t.after(() => proxy.stop().finally(fake.stop));
	const { generate, validate, until, lease } = await setUpAt(fake, `mongodb://${proxy.address}/`);
	const { username } = ok(await generate({ ttl: "4s" }));
	proxy.refuse();
	await eventually("it was tried", async () => (await lease()).attempts > 0);
	refused(await validate(username), 503, "engine_unavailable");
	refused(await generate(), 503, "engine_unavailable");
	assert.equal((await lease()).state, "revoking");
	proxy.restore();
	await until("revoked");
	assert.deepEqual(fake.users(), []);
});
