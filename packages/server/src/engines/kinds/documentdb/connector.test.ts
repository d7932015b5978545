import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Fields } from "@svc/protocol";
import { MongoClient } from "mongodb";
import { type Mongo, skipWithoutMongo, startMongo } from "../../../../../../test/peers/mongo.ts";
import { startProxy } from "../../../../../../test/peers/proxy.ts";
import { AppError } from "../../../errors.ts";
import { ForbiddenCommand } from "../managed-user.ts";
import { NAME, needsOf, PASSWORD, refusedAs, subject } from "../testing.ts";
import { createDocumentDbConnector, type DocumentDbConnector } from "./connector.ts";
import { docCreate } from "./testing.ts";

const skip = await skipWithoutMongo();
const mongoTest = { skip, timeout: 300_000 };
const USER = subject(NAME, "admin");

let mongo: Mongo;
before(async () => {
	if (skip === false) mongo = await startMongo();
});
after(() => skip === false && mongo.stop());

/** Makes the administrator's connector. Our user is absent before and after the test: the server may be somebody else's. */
async function connectorFor(t: TestContext): Promise<DocumentDbConnector> {
	const connector = createDocumentDbConnector(needsOf({ connection_uri: mongo.uri, database: "app" }));
	t.after(() => connector.remove(USER).finally(() => connector.close()));
	await connector.remove(USER);
	return connector;
}

function connect(t: TestContext, connection_uri: string): DocumentDbConnector {
	const connector = createDocumentDbConnector(needsOf({ connection_uri, database: "app" }));
	t.after(() => connector.close());
	return connector;
}

/** Logs in like the owner of the credential. */
function login(t: TestContext, connector: DocumentDbConnector, database = "app"): MongoClient {
	const { connection_uri } = connector.details({ username: NAME, password: PASSWORD, database });
	const client = new MongoClient(String(connection_uri));
	t.after(() => client.close());
	return client;
}

test("a user is created, found, listed, used and dropped, and dropped again", mongoTest, async (t) => {
	const connector = await connectorFor(t);
	await connector.ping();
	assert.equal(await connector.exists(USER), false);
	await connector.createUser(docCreate());
	assert.equal(await connector.exists(USER), true);
	assert.equal(await connector.exists(subject(NAME, "other")), false);
	assert.deepEqual(await connector.list("admin"), [NAME]);
	assert.deepEqual(await connector.list("other"), []);
	const client = login(t, connector);
	await client.db("app").collection("things").findOne();
	await connector.remove(USER);
	assert.equal(await connector.exists(USER), false);
	await assert.rejects(client.db("app").collection("things").findOne(), "its open connection is cut");
	await connector.remove(USER);
	assert.ok(!(await mongo.users()).includes(NAME));
	await assert.rejects(login(t, connector).db("app").command({ ping: 1 }), { code: 18 });
});

/** Rights of each role in its database. No role has any in another one. */
const ROLES = {
	read: { find: true, insert: false, index: false },
	readWrite: { find: true, insert: true, index: true },
	dbAdmin: { find: false, insert: false, index: true },
};

for (const [role, expected] of Object.entries(ROLES)) {
	test(`${role} is granted on its database, and nowhere else`, mongoTest, async (t) => {
		const connector = await connectorFor(t);
		await connector.createUser(docCreate(NAME, role));
		const { users } = await mongo.admin("admin", { usersInfo: { user: NAME, db: "admin" } });
		assert.deepEqual(users[0].roles, [{ role, db: "app" }]);
		assert.deepEqual(users[0].mechanisms ?? ["SCRAM-SHA-256"], ["SCRAM-SHA-256"]);
		const client = login(t, connector);
		const may = async (database: string) => {
			const things = client.db(database).collection("things");
			const allowed = (action: Promise<unknown>) =>
				action.then(
					() => true,
					({ code }) => code !== 13,
				);
			return {
				find: await allowed(things.findOne()),
				insert: await allowed(things.insertOne({ a: 1 })),
				index: await allowed(things.createIndex({ a: 1 })),
			};
		};
		assert.deepEqual(await may("app"), expected);
		for (const database of ["other", "admin"]) {
			assert.deepEqual(await may(database), { find: false, insert: false, index: false });
		}
	});
}

test("a second create of a name is refused, and the first one's password stays", mongoTest, async (t) => {
	const connector = await connectorFor(t);
	await connector.createUser(docCreate());
	const again = docCreate();
	again.document.pwd = again.password = "f".repeat(24);
	await assert.rejects(connector.createUser(again), refusedAs("rejected", /./));
	await login(t, connector).db("app").collection("things").findOne();
});

test("wrong credentials and missing rights are denials, without a secret in their messages", mongoTest, async (t) => {
	const connector = await connectorFor(t);
	await connector.createUser(docCreate());
	const [, password = ""] = /:([^:@/]+)@/.exec(mongo.uri) ?? [];
	const wrong = connect(t, mongo.uri.replace(`:${password}@`, ":wrong-password@"));
	await assert.rejects(wrong.ping(), refusedAs("denied", /^(?!.*wrong-password)the document database answered: /));
	const weak = connect(t, mongo.uri.replace(/[^/]*@/, `${NAME}:${PASSWORD}@`));
	await weak.ping();
	await assert.rejects(
		weak.createUser(docCreate("svc_00000002")),
		refusedAs("denied", new RegExp(`^(?!.*${PASSWORD})`)),
	);
	await assert.rejects(weak.remove(USER), refusedAs("denied", /./));
	assert.ok(!(await mongo.users()).includes("svc_00000002"));
});

test(
	"a create that is not answered in time is unclear, has no fence, and may land behind the drop",
	mongoTest,
	async (t) => {
		const connector = await connectorFor(t);
		const [host = "", port] = mongo.address.split(":");
		const proxy = await startProxy(Number(port), host);
		t.after(proxy.stop);
		const slow = connect(t, `${mongo.uri.replace(mongo.address, proxy.address)}/?directConnection=true`);
		await slow.ping();
		const held = proxy.hold("createUser");
		await assert.rejects(slow.createUser(docCreate()), refusedAs("unreachable", /MongoNetworkTimeoutError/));
		assert.equal("fence" in slow, false);
		await connector.remove(USER);
		assert.equal(await connector.exists(USER), false);
		await held.release();
		assert.equal(await connector.exists(USER), true, "this is what the quarantine is for");
		await connector.remove(USER);
		assert.equal(await connector.exists(USER), false);
	},
);

test("a server that falls silent is abandoned, and works again when it wakes", mongoTest, async (t) => {
	if (mongo.isForeign) return t.skip("the server is somebody else's");
	const connector = await connectorFor(t);
	mongo.pause();
	const silent = assert.rejects(connector.ping(), refusedAs("unreachable", /./));
	await silent.finally(mongo.resume);
	await connector.ping();
});

test("a user that is not managed is never dropped", mongoTest, async (t) => {
	const connector = await connectorFor(t);
	for (const name of ["root", "svc_", "svc_ABCDEF12"]) {
		await assert.rejects(connector.remove(subject(name, "admin")), ForbiddenCommand);
	}
	assert.ok(!(await mongo.users()).includes(NAME));
});

test("the core adds the databases and a connection string", () => {
	const connection_uri = "mongodb://root:secret@db/?replicaSet=rs0";
	const credential = { username: NAME, password: PASSWORD };
	const detailsWith = (fields: Fields, database?: string) =>
		createDocumentDbConnector(needsOf({ connection_uri, database: "app", ...fields })).details({
			...credential,
			...(database && { database }),
		});
	assert.deepEqual(detailsWith({}), {
		database: "app",
		auth_database: "admin",
		connection_uri: `mongodb://${NAME}:${PASSWORD}@db:27017/app?authSource=admin&replicaSet=rs0`,
	});
	assert.deepEqual(detailsWith({ auth_database: "users" }, "other"), {
		database: "other",
		auth_database: "users",
		connection_uri: `mongodb://${NAME}:${PASSWORD}@db:27017/other?authSource=users&replicaSet=rs0`,
	});
});

test("a connection string that the driver does not take is refused without being quoted", () => {
	const bad = [
		"",
		"secret",
		"http://secret@db",
		"mongodb://",
		"mongodb://u:sec/ret@db",
		"mongodb://db/?secret=1",
		"mongodb://db/?w=",
		"mongodb://db/?tls=secret",
	];
	for (const connection_uri of [...bad, undefined, 5]) {
		assert.throws(
			() => createDocumentDbConnector(needsOf({ connection_uri, database: "app" })),
			(error) =>
				error instanceof AppError &&
				error.code === "validation_failed" &&
				/^connection_uri\b/.test(error.message) &&
				!/secret/.test(error.message) &&
				error.cause === undefined,
			String(connection_uri),
		);
	}
});
