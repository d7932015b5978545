/* The core runs an engine's command only when it is the one allowed. Spec: ENGINES › keyvalue, documentdb operations. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer } from "../../harness/client.ts";
import { type EngineWorld, startEngineWorld } from "../../harness/engine-world.ts";
import { newest } from "../../harness/events.ts";
import { ok, refused } from "../../harness/expect.ts";
import { type FakeMongo, startFakeMongo } from "../../peers/mongo-fake.ts";
import { type Redis, skipWithoutRedis, startRedis } from "../../peers/redis.ts";

const OF_READONLY =
	"~* +get +mget +hget +hgetall +lrange +smembers +sismember +zrange +ttl +type +exists +keys +scan +info";
const HOUR_MS = 60 * 60 * 1000;
const NAME = "svc_0a1b2c3d";
const PASSWORD = "0123456789abcdef01234567";
const CANARY = "canarycanary";

type Say = Record<string, unknown>;

let world: EngineWorld;
let redis: Redis | undefined;
let mongo: FakeMongo;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	mongo = await startFakeMongo();
	ends.defer(mongo.stop);
	redis = skipWithoutRedis === false ? await startRedis() : undefined;
	ends.defer(() => redis?.stop());
	world = await startEngineWorld({ program: "test/engines/hostile/commanding-server.ts" });
	ends.defer(world.close);
	ok(await world.configure("documentdb", { connection_uri: mongo.uri, database: "app" }));
	if (redis) ok(await world.configure("keyvalue", { address: redis.address, password: redis.password }));
});

const end = () => new Date(Date.now() + HOUR_MS).toISOString();

/** Fails unless the answer says that the engine asked for too much, does not quote the command, and the log has the event. */
async function forbidden(answer: Answer, engine: string, method: string): Promise<void> {
	refused(answer, 503, "engine_unavailable");
	assert.match(answer.text, new RegExp(`engine ${engine} .*\\bcommand\\b`));
	assert.ok(!answer.text.includes(CANARY), answer.text);
	const event = await newest(world.client, world.admin, "engine.error");
	const { data } = event ?? assert.fail("no event");
	assert.deepEqual([data.engine, data.method, data.code], [engine, method, "engine_unavailable"]);
	assert.deepEqual(await world.leases(), [], "nothing was begun");
}

/** Returns all changes to the store: its users, and how often each command that changes something was run. */
async function stateOfRedis({ admin }: Redis): Promise<unknown> {
	const statistics = String(await admin("INFO", "commandstats"));
	const changing = statistics.match(/^cmdstat_(?:config|acl\|(?:setuser|deluser)|flush|set|eval)\S*?calls=\d+/gm);
	return { users: await admin("ACL", "LIST"), changing };
}

const kv = (changes: Say = {}): Say => ({
	username: NAME,
	password: PASSWORD,
	expires_at: end(),
	kv_command: `ACL SETUSER ${NAME} on >${PASSWORD} ${OF_READONLY}`,
	...changes,
});
const kvSays = (rest: string): Say => ({ kv_command: `ACL SETUSER ${NAME} on >${PASSWORD} ${rest}` });

const KV_CREATES: [what: string, changes: Say][] = [
	["another command", { kv_command: `CONFIG SET requirepass ${CANARY}` }],
	["the default user", { kv_command: `ACL SETUSER default on >${CANARY} ~* +@all` }],
	["the default user, as its own", { username: "default", kv_command: `ACL SETUSER default on >${PASSWORD}` }],
	["a second command behind", kvSays(`${OF_READONLY}\r\nCONFIG SET requirepass ${CANARY}`)],
	["a second command before", { kv_command: `FLUSHALL\nACL SETUSER ${NAME} on >${PASSWORD} ${OF_READONLY}` }],
	["another name than it answers", { kv_command: `ACL SETUSER svc_ffffffff on >${PASSWORD} ${OF_READONLY}` }],
	["a name with a line break", { username: `${NAME}\n` }],
	["a name that is not managed", { username: CANARY, kv_command: `ACL SETUSER ${CANARY} on` }],
	["every right for readonly", kvSays("~* +@all")],
	["one right more", kvSays(`${OF_READONLY} +set`)],
	["a second password", kvSays(`>${CANARY} ${OF_READONLY}`)],
	["no password", kvSays(`nopass ${OF_READONLY}`)],
	["another password than it answers", { password: "f".repeat(24) }],
	["a password of another kind", { password: CANARY, kv_command: `ACL SETUSER ${NAME} on >${CANARY} ${OF_READONLY}` }],
	["other letters", { kv_command: `acl setuser ${NAME} on >${PASSWORD} ${OF_READONLY}` }],
	["a list", { kv_command: ["ACL", "SETUSER", NAME] }],
	["nothing", { kv_command: undefined }],
	["a longer life", { expires_at: new Date(Date.now() + 48 * HOUR_MS).toISOString() }],
	["a life without end", { expires_at: undefined }],
];
for (const [what, changes] of KV_CREATES) {
	test(`generate of keyvalue with ${what}: nothing is sent`, { skip: skipWithoutRedis }, async () => {
		const peer = redis ?? assert.fail();
		const before = await stateOfRedis(peer);
		await forbidden(await world.generate("keyvalue", { say: kv(changes) }), "keyvalue", "generate");
		assert.deepEqual(await stateOfRedis(peer), before);
	});
}

const KV_DELETES: [what: string, command: unknown][] = [
	["another command", `FLUSHALL ${CANARY}`],
	["the default user", "ACL DELUSER default"],
	["another user", "ACL DELUSER svc_ffffffff"],
	["one user more", `ACL DELUSER ${NAME} default`],
	["a second command", `ACL DELUSER ${NAME}\r\nFLUSHALL`],
	["nothing", undefined],
];
for (const [what, kv_command] of KV_DELETES) {
	test(`validate of keyvalue with ${what}: nothing is sent`, { skip: skipWithoutRedis }, async () => {
		const peer = redis ?? assert.fail();
		const before = await stateOfRedis(peer);
		const say = { valid: true, message: "done", kv_command };
		await forbidden(await world.validate("keyvalue", { username: NAME, say }), "keyvalue", "validate");
		assert.deepEqual(await stateOfRedis(peer), before);
	});
}

const user = (changes: Say = {}): Say => ({
	createUser: NAME,
	pwd: PASSWORD,
	roles: [{ role: "read", db: "app" }],
	mechanisms: ["SCRAM-SHA-256"],
	...changes,
});
const doc = (doc_command: unknown): Say => ({
	username: NAME,
	password: PASSWORD,
	expires_at: end(),
	database: "app",
	auth_database: "admin",
	doc_command,
});

const DOC_CREATES: [what: string, command: unknown][] = [
	["another command", { dropDatabase: 1, comment: CANARY }],
	["one member more", user({ customData: { $where: CANARY } })],
	["one role more", user({ roles: [...[{ role: "read", db: "app" }], { role: "root", db: "admin" }] })],
	["another role", user({ roles: [{ role: "root", db: "app" }] })],
	["another database", user({ roles: [{ role: "read", db: "admin" }] })],
	["a role without a database", user({ roles: ["read"] })],
	["a weaker mechanism", user({ mechanisms: ["SCRAM-SHA-1"] })],
	["one mechanism more", user({ mechanisms: ["SCRAM-SHA-256", "SCRAM-SHA-1"] })],
	["no mechanism", user({ mechanisms: undefined })],
	["another name than it answers", user({ createUser: CANARY })],
	["another password than it answers", user({ pwd: CANARY })],
	["a text", JSON.stringify(user())],
	["nothing", undefined],
];
for (const [what, command] of DOC_CREATES) {
	test(`generate of documentdb with ${what}: nothing is sent`, async () => {
		const before = mongo.commands.length;
		const params = { database: "app", say: doc(command) };
		await forbidden(await world.generate("documentdb", params), "documentdb", "generate");
		assert.equal(mongo.commands.length, before);
	});
}

const DOC_DROPS: [what: string, command: unknown][] = [
	["another command", { dropAllUsersFromDatabase: 1, comment: CANARY }],
	["another user", { dropUser: "root" }],
	["one member more", { dropUser: NAME, writeConcern: { w: 0 } }],
	["nothing", undefined],
];
for (const [what, doc_command] of DOC_DROPS) {
	test(`validate of documentdb with ${what}: nothing is sent`, async () => {
		const before = mongo.commands.length;
		const say = { valid: true, message: "done", doc_command };
		await forbidden(await world.validate("documentdb", { username: NAME, say }), "documentdb", "validate");
		assert.equal(mongo.commands.length, before);
	});
}

test("the very command that is right is run, and undone", async () => {
	ok(await world.generate("documentdb", { database: "app", say: doc(user()) }));
	assert.deepEqual(mongo.users(), [NAME]);
	const drop = { valid: true, message: "done", doc_command: { dropUser: NAME } };
	ok(await world.validate("documentdb", { username: NAME, say: drop }));
	assert.deepEqual(mongo.users(), []);
	if (redis === undefined) return;
	ok(await world.generate("keyvalue", { role: "readonly", say: kv() }));
	assert.deepEqual(await redis.users(), [NAME]);
	const remove = { valid: true, message: "done", kv_command: `ACL DELUSER ${NAME}` };
	ok(await world.validate("keyvalue", { username: NAME, say: remove }));
	assert.deepEqual(await redis.users(), []);
});
