import assert from "node:assert/strict";
import { suite, type TestContext, test } from "node:test";
import { freePort } from "../../../../../../test/peers/free-port.ts";
import { type FakeMongo, type Fault, startFakeMongo } from "../../../../../../test/peers/mongo-fake.ts";
import { startProxy } from "../../../../../../test/peers/proxy.ts";
import { NAME, needsOf, PASSWORD, refusedAs, subject } from "../testing.ts";
import { createDocumentDbConnector, type DocumentDbConnector } from "./connector.ts";
import { docCreate } from "./testing.ts";

const USER = subject(NAME, "admin");

async function fakeFor(t: TestContext): Promise<{ fake: FakeMongo; connector: DocumentDbConnector }> {
	const fake = await startFakeMongo();
	const connector = createDocumentDbConnector(needsOf({ connection_uri: fake.uri, database: "app" }));
	t.after(async () => {
		await connector.close();
		await fake.stop();
	});
	return { fake, connector };
}

const failure = (code: number, errmsg = "no"): Fault => ({ applies: false, answer: { ok: 0, code, errmsg } });
const unconfirmed = { ok: 1, writeConcernError: { code: 64, errmsg: "waiting for replication timed out" } };

test("a user is made in the authentication database and waits for the majority; names are asked of the primary", async (t) => {
	const { fake, connector } = await fakeFor(t);
	await connector.createUser(docCreate());
	await connector.exists(USER);
	await connector.remove(subject(NAME, "users"));
	const writeConcern = { w: "majority", wtimeout: 4000 };
	assert.deepEqual(fake.commands, [
		{ ...docCreate().document, writeConcern, $db: "admin" },
		{ usersInfo: { user: NAME, db: "admin" }, $db: "admin" },
		{ dropUser: NAME, writeConcern, $db: "users" },
	]);
});

/** Possible endings of a create: the connector's error, and whether the user exists. */
const ENDINGS: [what: string, Fault, kind: "unreachable" | "denied" | "rejected", isThere: boolean][] = [
	["the connection breaks before", { applies: false, answer: "reset" }, "unreachable", false],
	["the connection breaks after", { applies: true, answer: "reset" }, "unreachable", true],
	["the majority does not confirm", { applies: true, answer: unconfirmed }, "unreachable", true],
	["the primary steps down", failure(189), "unreachable", false],
	["it is no primary", failure(10107), "unreachable", false],
	["it shuts down", failure(91), "unreachable", false],
	[
		"it has happened, with an error that nobody knows",
		{ applies: true, answer: { ok: 0, code: 77_777 } },
		"unreachable",
		true,
	],
	[
		"it has happened, with an error without a code",
		{ applies: true, answer: { ok: 0, errmsg: "something" } },
		"unreachable",
		true,
	],
	["the right is missing", failure(13), "denied", false],
	["the role is unknown", failure(31), "rejected", false],
	["the command is unknown", failure(59), "rejected", false],
	["the name is taken", failure(51_003), "rejected", false],
];

for (const [what, fault, kind, isThere] of ENDINGS) {
	test(`a create is ${kind} when ${what}`, async (t) => {
		const { fake, connector } = await fakeFor(t);
		fake.fault("createUser", fault);
		await assert.rejects(connector.createUser(docCreate()), refusedAs(kind, /./));
		fake.fault("createUser", undefined);
		assert.equal(await connector.exists(USER), isThere);
		await connector.remove(USER);
		assert.equal(await connector.exists(USER), false);
	});
}

suite("a server that does not answer", { concurrency: true }, () => {
	test("a create that is never answered is abandoned after 5 s", { timeout: 300_000 }, async (t) => {
		const { fake, connector } = await fakeFor(t);
		fake.fault("createUser", { applies: true, answer: "nothing" });
		await assert.rejects(connector.createUser(docCreate()), refusedAs("unreachable", /\(MongoNetworkTimeoutError\)/));
		assert.deepEqual(fake.users(), [NAME]);
	});

	test("a server that was away when it was first asked works as soon as it is there", async (t) => {
		const { fake } = await fakeFor(t);
		const proxy = await startProxy(fake.port);
		const connector = createDocumentDbConnector(
			needsOf({ connection_uri: `mongodb://${proxy.address}/`, database: "app" }),
		);
		t.after(() => connector.close().finally(proxy.stop));
		proxy.refuse();
		for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(connector.ping(), refusedAs("unreachable", /./));
		proxy.restore();
		await connector.ping();
		await connector.createUser(docCreate());
		assert.deepEqual(fake.users(), [NAME]);
	});
});

test("a drop that the majority does not confirm is not done", async (t) => {
	const { fake, connector } = await fakeFor(t);
	await connector.createUser(docCreate());
	fake.fault("dropUser", { applies: true, answer: unconfirmed });
	await assert.rejects(connector.remove(USER), refusedAs("unreachable", /waiting for replication/));
	fake.fault("dropUser", undefined);
	await connector.remove(USER);
});

test("a server that lies about a drop is found out", async (t) => {
	const { fake, connector } = await fakeFor(t);
	await connector.createUser(docCreate());
	fake.fault("dropUser", { applies: false, answer: { ok: 1 } });
	await connector.remove(USER);
	assert.equal(await connector.exists(USER), true);
});

test("an error to another question is a refusal, bounded, on one line, with the password masked", async (t) => {
	const { fake, connector } = await fakeFor(t);
	fake.fault("usersInfo", failure(77_777, `a\r\nb\u001b[31m\u2028c ${"x".repeat(1000)}`));
	await assert.rejects(connector.exists(USER), refusedAs("rejected", /: a\?\?b\?\[31m\?c x{100,200}$/));
	fake.fault("createUser", failure(13, `not authorized to execute { pwd: "${PASSWORD}" } over ${fake.uri}`));
	await assert.rejects(connector.createUser(docCreate()), refusedAs("denied", /{ pwd: "\*+" } over \*+$/));
});

test("a server that is not there is unreachable, and no message has its address", async (t) => {
	const connection_uri = `mongodb://root:secret@127.0.0.1:${await freePort()}/`;
	const connector = createDocumentDbConnector(needsOf({ connection_uri, database: "app" }));
	t.after(() => connector.close());
	await assert.rejects(connector.ping(), refusedAs("unreachable", /\(ECONNREFUSED\)$/));
});

test("once closed, nothing can be asked", async (t) => {
	const { connector } = await fakeFor(t);
	await connector.ping();
	await connector.close();
	await assert.rejects(connector.ping(), refusedAs("unreachable", /./));
});
