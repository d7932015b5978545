import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MongoClient } from "mongodb";
import { type Mongo, skipWithoutMongo, startMongo } from "./mongo.ts";
import { startFakeMongo } from "./mongo-fake.ts";

const mongoTest = { skip: await skipWithoutMongo(), timeout: 300_000 };
const createUser = { createUser: "somebody", pwd: "secret", roles: [{ role: "read", db: "app" }] };

async function mongoFor(t: TestContext): Promise<Mongo> {
	const mongo = await startMongo();
	t.after(mongo.stop);
	return mongo;
}

function clientOf(t: TestContext, uri: string): MongoClient {
	const client = new MongoClient(uri, { serverSelectionTimeoutMS: 1000, socketTimeoutMS: 1000 });
	t.after(() => client.close());
	return client;
}

test("users log in, and are cut off when they are dropped", mongoTest, async (t) => {
	const mongo = await mongoFor(t);
	await mongo.admin("users", { dropUser: "somebody" }).catch(() => undefined);
	await mongo.admin("users", createUser);
	assert.deepEqual(await mongo.users("users"), ["somebody"]);
	const client = clientOf(t, `mongodb://somebody:secret@${mongo.address}/?authSource=users`);
	await client.db("app").collection("things").findOne();
	await mongo.admin("users", { dropUser: "somebody" });
	await assert.rejects(client.db("app").collection("things").findOne());
	await client.close();
});

test("the fake does what it is asked, once, and remembers", async (t) => {
	const fake = await startFakeMongo();
	t.after(fake.stop);
	const admin = clientOf(t, fake.uri).db("admin");
	await admin.command(createUser);
	await assert.rejects(admin.command(createUser), { code: 51_003 });
	fake.fault("dropUser", { applies: false, answer: { ok: 1 } });
	await admin.command({ dropUser: "somebody" });
	assert.deepEqual(fake.users(), ["somebody"], "it lied");
	fake.fault("dropUser", { applies: true, answer: "reset" });
	await assert.rejects(admin.command({ dropUser: "somebody" }), { name: "MongoNetworkError" });
	assert.deepEqual(fake.users(), []);
	fake.fault("dropUser", { applies: false, answer: "nothing" });
	await assert.rejects(admin.command({ dropUser: "somebody" }), { name: "MongoNetworkTimeoutError" });
	fake.fault("dropUser", undefined);
	await assert.rejects(admin.command({ dropUser: "somebody" }), { code: 11 });
	const names = fake.commands.map((command) => Object.keys(command)[0]);
	assert.deepEqual(names, ["createUser", "createUser", "dropUser", "dropUser", "dropUser", "dropUser"]);
});
