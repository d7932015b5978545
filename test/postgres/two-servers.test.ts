/* Two servers as processes of their own, which share one database on a real PostgreSQL. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { hostname } from "node:os";
import process from "node:process";
import { after, before, test } from "node:test";
import type { Api } from "../harness/client.ts";
import { events } from "../harness/events.ts";
import { ok, refused } from "../harness/expect.ts";
import { apiToken, bind, type Person, person, realm, secret, secretPath } from "../harness/fixtures.ts";
import type { Secret } from "../harness/resources.ts";
import type { Server } from "../harness.ts";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { startSharingServers } from "./sharing-servers.ts";

const options = { skip: skipWithoutPostgres };

const ends = new AsyncDisposableStack();
let servers: readonly Server[];
let here: Api;
let there: Api;
let admin: Person;
let slug: string;

after(() => ends.disposeAsync());
before(async () => {
	if (skipWithoutPostgres !== false) return;
	const world = await startSharingServers();
	ends.defer(world.close);
	({ servers, here, there, root: admin } = world);
	({ slug } = await realm(here, admin));
});

/** Reads a secret with its value. */
const read = (on: Api, key: string, token: string) => on.get<Secret>(secretPath(slug, key), { token });

test("what is written on one server is read on the other with the answer", options, async () => {
	for (let turn = 1; turn <= 10; turn++) {
		const [writer, reader] = turn % 2 === 0 ? [here, there] : [there, here];
		assert.equal((await secret(writer, admin, slug, "TURNS", `value ${turn}`)).version, turn);
		const { value, version } = ok(await read(reader, "TURNS", admin.token));
		assert.deepEqual([value, version], [`value ${turn}`, turn]);
	}
});

test("a role that is given on one server opens the realm on the other, until it is taken away", options, async () => {
	const member = await person(there, "member");
	await secret(here, admin, slug, "SHARED", "a value");
	for (let turn = 0; turn < 5; turn++) {
		refused(await read(there, "SHARED", member.token), 404, "not_found");
		await bind(here, admin, slug, member, "viewer");
		assert.equal(ok(await read(there, "SHARED", member.token)).value, "a value");
		ok(await here.delete(`/realms/${slug}/policy/bindings/${member.id}`, { token: admin.token }));
	}
	refused(await read(there, "SHARED", member.token), 404, "not_found");
});

test("a token or session that ends on one server is refused on the other with the answer", options, async () => {
	for (let turn = 0; turn < 5; turn++) {
		const { id, token } = await apiToken(here, admin, "read");
		assert.equal(ok(await there.get<{ id: string }>("/auth/whoami", { token })).id, admin.id);
		ok(await here.delete(`/auth/tokens/${id}`, { token: admin.token }));
		refused(await there.get("/auth/whoami", { token }), 401, "unauthorized");
	}
	const leaver = await person(here, "leaver");
	ok(await there.get("/auth/whoami", { token: leaver.token }));
	ok(await here.post("/auth/logout", undefined, { token: leaver.token }));
	refused(await there.get("/auth/whoami", { token: leaver.token }), 401, "unauthorized");
	ok(await here.post(`/users/${leaver.id}/disable`, undefined, { token: admin.token }));
	refused(await there.post("/auth/login", { email: leaver.email, password: leaver.password }), 401);
});

test("no read is older than a write that was answered before it began", options, async () => {
	let answered = (await secret(here, admin, slug, "RACED", "a value")).version;
	let isOver = false;
	const write = async () => {
		for (let turn = 0; turn < 50; turn++)
			answered = (await secret(turn % 2 === 0 ? here : there, admin, slug, "RACED", `value ${turn}`)).version;
		isOver = true;
	};
	let reads = 0;
	const readAgain = async (on: Api) => {
		for (; !isOver; reads++) {
			const least = answered;
			const { version } = ok(await read(on, "RACED", admin.token));
			assert.ok(version >= least, `version ${version} was read after ${least} was answered`);
		}
	};
	await Promise.all([write(), ...[here, here, there, there].map(readAgain)]);
	assert.ok(reads > 50, `${reads}`);
});

test("no read takes place with a role that was taken away before it began", options, async () => {
	const racer = await person(here, "racer");
	await secret(here, admin, slug, "GUARDED", "a value");
	/** Changes of the role that have begun, and those that were answered: odd numbers give it, even ones take it away. */
	let [begun, answered] = [0, 0];
	const change = async () => {
		for (let turn = 0; turn < 20; turn++) {
			const [on, other] = turn % 2 === 0 ? [here, there] : [there, here];
			begun++;
			await bind(on, admin, slug, racer, "viewer");
			answered = begun;
			ok(await read(other, "GUARDED", racer.token));
			begun++;
			ok(await on.delete(`/realms/${slug}/policy/bindings/${racer.id}`, { token: admin.token }));
			answered = begun;
			refused(await read(other, "GUARDED", racer.token), 404, "not_found");
		}
	};
	const counts = { 200: 0, 404: 0 };
	const readAgain = async (on: Api) => {
		while (answered < 40) {
			const before = answered;
			const { status } = await read(on, "GUARDED", racer.token);
			assert.ok(status === 200 || status === 404, `${status}`);
			counts[status]++;
			if (begun === before) assert.equal(status, before % 2 === 1 ? 200 : 404);
		}
	};
	await Promise.all([change(), ...[here, there, there].map(readAgain)]);
	refused(await read(there, "GUARDED", racer.token), 404, "not_found");
	assert.ok(counts[200] > 0 && counts[404] > 0, JSON.stringify(counts));
});

test("a server that was stopped meanwhile answers no read with a token that has ended", options, async () => {
	await secret(here, admin, slug, "STOPPED", "a value");
	const { id, token } = await apiToken(here, admin, "read");
	ok(await read(there, "STOPPED", token));
	const pid = servers[1]?.pid ?? assert.fail("no server");
	process.kill(pid, "SIGSTOP");
	let answer: ReturnType<typeof read>;
	try {
		answer = read(there, "STOPPED", token);
		ok(await here.delete(`/auth/tokens/${id}`, { token: admin.token }));
	} finally {
		process.kill(pid, "SIGCONT");
	}
	refused(await answer, 401, "unauthorized");
});

test("a request that began before its token ended on another server writes nothing after", options, async () => {
	const { id, token } = await apiToken(here, admin, "read,write");
	ok(await there.get("/auth/whoami", { token }));
	const { url, ca } = servers[1] ?? assert.fail("no server");
	const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", expect: "100-continue" };
	const outgoing = request(`${url}/api/v1/realms/${slug}/secrets`, { method: "POST", ca, headers, agent: false });
	outgoing.flushHeaders();
	await once(outgoing, "continue");
	ok(await there.get("/auth/whoami", { token }));
	ok(await here.delete(`/auth/tokens/${id}`, { token: admin.token }));
	outgoing.end(JSON.stringify({ key: "LATE", value: "a value", environment: "dev" }));
	const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
	answer.resume();
	assert.equal(answer.statusCode, 401);
	refused(await read(here, "LATE", admin.token), 404, "not_found");
});

test("both servers continue one chain, with each answered read in it once", options, async () => {
	await secret(here, admin, slug, "COUNTED", "a value");
	const answers = await Promise.all(
		Array.from({ length: 30 }, (_, index) => read(index % 2 === 0 ? here : there, "COUNTED", admin.token)),
	);
	for (const answer of answers) ok(answer);
	for (const on of [here, there]) {
		const reads = (await events(on, admin, `realm=${slug}&type=secret.read`)).filter(
			({ data }) => data.key === "COUNTED",
		);
		assert.equal(reads.length, answers.length);
		assert.equal(new Set(reads.map(({ data }) => data.request_id)).size, answers.length);
		const { status } = ok(await on.get<{ status: string }>("/audit/verify", { token: admin.token }));
		assert.equal(status, "intact");
	}
});

test("the event of a backup names the machine that has the file", options, async () => {
	const { name } = ok(await there.post<{ name: string }>("/backups", undefined, { token: admin.token }), 201);
	const [made] = await events(here, admin, "type=backup.created");
	assert.partialDeepStrictEqual(made?.data, { name, node: hostname() });
});

test("a key that one server has replaced is in use on the other with the answer", options, async () => {
	const { token } = admin;
	await realm(here, admin);
	for (const purpose of ["session", "cursor", "portable", "checkpoint", "record", "rows"]) {
		const encrypted = ok(await there.post<{ ciphertext: string }>("/encrypt", { value: "a text" }, { token }));
		ok(await here.post("/keys/rotate", { purpose }, { token }));
		const session = ok(await here.post<{ token: string }>("/auth/login", { ...admin }));
		ok(await there.get("/auth/whoami", { token: session.token }));
		const page = ok(
			await here.get<{ pagination: { next_cursor: string } }>("/realms?limit=1", { token: session.token }),
		);
		ok(await there.get(`/realms?limit=1&cursor=${page.pagination.next_cursor}`, { token }));
		const again = ok(await here.post<{ ciphertext: string }>("/encrypt", { value: "a text" }, { token }));
		for (const { ciphertext } of [encrypted, again]) {
			await secret(there, admin, slug, "TEXT", ciphertext, { pre_encrypted: true });
			assert.equal(ok(await read(here, "TEXT", token)).value, "a text");
		}
	}
	for (const on of [here, there]) assert.equal((await on.get("/health")).status, 200);
});

test("reads on one server succeed while the other replaces the key for rows", options, async () => {
	const { token } = await apiToken(here, admin, "read");
	await secret(here, admin, slug, "RENEWED", "a value");
	const rotations = () => events(here, admin, "type=key.destroyed");
	const earlier = (await rotations()).length;
	let isOver = false;
	const rotate = async () => {
		// The previous key is removed when no row needs it.
		while ((await here.post("/keys/rotate", { purpose: "rows" }, { token: admin.token })).status === 409);
		while ((await rotations()).length === earlier);
		isOver = true;
	};
	let reads = 0;
	const readAgain = async () => {
		for (; !isOver; reads++) assert.equal(ok(await read(there, "RENEWED", token)).value, "a value");
	};
	await Promise.all([rotate(), ...[0, 1, 2].map(readAgain)]);
	assert.ok(reads > 0, "no read was answered during the rotation");
	for (const on of [here, there]) {
		assert.equal((await on.get("/health")).status, 200);
		assert.equal(ok(await on.get<{ status: string }>("/audit/verify", { token: admin.token })).status, "intact");
	}
});

test("the master key is not replaced while both servers use it", options, async () => {
	refused(await here.post("/keys/rotate", { purpose: "master" }, { token: admin.token }), 409, "conflict");
});

test("the record key that one server gives a realm is in use on the other", options, async () => {
	await secret(here, admin, slug, "BEFORE", "a value");
	ok(await here.post("/keys/rotate", { purpose: "record", realm: slug }, { token: admin.token }));
	await secret(here, admin, slug, "AFTER", "a value");
	for (const key of ["BEFORE", "AFTER"]) assert.equal(ok(await read(there, key, admin.token)).value, "a value");
});

test("each server lists both, and one that has stopped is gone", options, async () => {
	type Nodes = { nodes: { address: string; status: string }[] };
	const list = async (on: Api) => ok(await on.get<Nodes>("/nodes", { token: admin.token })).nodes;
	const shown = servers.map(({ url: address }) => ({ address, status: "active" }));
	for (const on of [here, there]) assert.partialDeepStrictEqual(await list(on), shown);
	await servers[1]?.stop();
	assert.deepEqual(
		(await list(here)).map(({ address }) => address),
		[shown[0]?.address],
	);
	await servers[1]?.restart();
	assert.equal((await list(here)).length, 2);
});
