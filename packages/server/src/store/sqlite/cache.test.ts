import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import type { SecretVersion } from "../../secrets/model.ts";
import { aVersion } from "../../testing/rows.ts";
import { makeFolder, trustAllRows } from "../../testing/store.ts";
import { createAnswerCache } from "../cache.ts";
import type { Operations } from "../store.ts";
import { migrate } from "./migrate.ts";
import { openWriter } from "./open.ts";
import { openChain } from "./tip.ts";
import { allWrites } from "./writes/all.ts";

/** A cache over nouns that record their questions, and give the answers set by the test. */
function setUp() {
	const cache = createAnswerCache();
	const asked: string[] = [];
	let answer: (question: string) => Promise<unknown> = async (question) => ({ question, value: Buffer.alloc(1) });
	const ask =
		(name: string) =>
		async (...args: unknown[]) => {
			const question = `${name}(${args.map((arg) => (Buffer.isBuffer(arg) ? arg.toString("hex") : arg)).join()})`;
			asked.push(question);
			return answer(question);
		};
	const nouns = cache.over({
		accounts: { sessionOwner: ask("session"), byId: ask("byId") },
		engines: { config: ask("config") },
		realms: { access: ask("access") },
		secrets: { get: ask("get"), version: ask("version") },
		tokens: { owner: ask("owner") },
	} as unknown as Operations);
	const askAll = () =>
		Promise.all([
			nouns.accounts.sessionOwner("jti", "user", "now"),
			nouns.realms.access("slug", "user"),
			nouns.secrets.get("realm", "dev", "key"),
			nouns.tokens.owner(Buffer.of(1)),
		]);
	const answering = (next: typeof answer) => {
		answer = next;
	};
	return { cache, nouns, asked, askAll, answering };
}

test("what every request asks is asked once, and everything else every time", async () => {
	const { nouns, asked, askAll } = setUp();
	const first = await askAll();
	assert.deepEqual(await askAll(), first);
	assert.equal(asked.length, 4);
	for (let count = 0; count < 2; count++) {
		await nouns.accounts.byId("user");
		await nouns.secrets.version("realm", "dev", "key", 1);
	}
	assert.equal(asked.length, 8);
});

test("the configuration of an engine is asked once, also that there is none, until configurations may have changed", async () => {
	const { cache, nouns, asked, answering } = setUp();
	answering(async (question) => (question === "config(pki,,active)" ? { question } : undefined));
	const ask = async () => [
		await nouns.engines.config("pki", "", "active"),
		await nouns.engines.config("pki", "realm", "active"),
	];
	const found = [{ question: "config(pki,,active)" }, undefined];
	assert.deepEqual(await ask(), found);
	for (const operation of ["secrets.set", "leases.begin", "leases.settle", "accounts.register"]) {
		cache.forget([operation]);
		assert.deepEqual(await ask(), found);
	}
	assert.equal(asked.length, 2);
	for (const [index, operation] of ["engines.setConfig", "engines.keepGenerated", "realms.remove", "x.y"].entries()) {
		cache.forget(["secrets.set", operation]);
		assert.deepEqual(await ask(), found);
		assert.equal(asked.length, 4 + 2 * index);
	}
});

test("answers to different questions are kept apart, however alike their parts are", async () => {
	const { nouns, asked } = setUp();
	const questions: (() => unknown)[] = [
		() => nouns.accounts.sessionOwner("a", "b", ""),
		() => nouns.accounts.sessionOwner("b", "a", ""),
		() => nouns.realms.access("a", "b"),
		() => nouns.realms.access("b", "a"),
		() => nouns.secrets.get("r", "dev", "k"),
		() => nouns.secrets.get("r", "prod", "k"),
		() => nouns.secrets.get("r", "dev", "dev"),
		() => nouns.tokens.owner(Buffer.from([0xff, 0x20])),
		() => nouns.tokens.owner(Buffer.from([0xfe, 0x20])),
		() => nouns.tokens.owner(Buffer.from([0xff])),
	];
	const answers = [];
	for (const question of [...questions, ...questions]) answers.push(JSON.stringify(await question()));
	assert.equal(asked.length, questions.length);
	assert.equal(new Set(answers).size, questions.length);
});

test("what is not there is asked for again", async () => {
	const { asked, askAll, answering } = setUp();
	answering(async () => undefined);
	await askAll();
	await askAll();
	assert.equal(asked.length, 8);
});

test("a question that fails is asked again", async () => {
	const { asked, askAll, answering } = setUp();
	answering(() => Promise.reject(new Error("busy")));
	await assert.rejects(askAll(), /busy/);
	answering(async () => ({ value: Buffer.alloc(1) }));
	await askAll();
	assert.equal(asked.length, 8);
});

test("an answer that was on its way when something changed is given, and not remembered", async () => {
	const { cache, asked, askAll, answering } = setUp();
	const held = Promise.withResolvers<void>();
	answering(async (question) => {
		await held.promise;
		return { question, value: Buffer.alloc(1) };
	});
	const asking = askAll();
	cache.forget(["tokens.revoke"]);
	held.resolve();
	assert.equal((await asking).length, 4);
	assert.equal(asked.length, 4);
	await askAll();
	assert.equal(asked.length, 8);
	await askAll();
	assert.equal(asked.length, 8);
});

test("a caller cannot change an answer that is remembered", async () => {
	const { nouns } = setUp();
	const owner = await nouns.tokens.owner(Buffer.of(1));
	assert.throws(() => Object.assign(owner ?? {}, { instance_admin: true }), TypeError);
});

/** Operations after which remembered answers stay true: those about access, and those about secrets too. Give a reason for each here. */
const KEEPS_ACCESS = new Set([
	"accounts.register", // an account that nobody has asked for so far
	"accounts.dropSessions", // sessions whose tokens have expired by themselves
	"accounts.dropKnownSources", // sources unused for a long time
	"audit.addCheckpoint",
	...["common.keep", "common.drop"], // texts of the servers themselves, which no answer holds
	"health.probe",
	"keys.renewRows", // the same rows under another key
	"tokens.create", // a token likewise; those that it takes away have expired
	"tokens.forgetExpired", // callers check the end of a token
	"tokens.used", // not part of the answer
	"audit.record",
	"health.acceptLoss", // not part of any answer
	"audit.keepParts", // names of keys, which no answer holds
	"audit.appendNaming", // an event and such names
	"secrets.set",
	"secrets.purge",
	"secrets.purgeDeleted",
	"secrets.remove",
	"secrets.restore",
	"secrets.promote",
	"machines.addToken", // nobody has asked for it yet
	...["make", "remove", "drop"].map((verb) => `invitations.${verb}`), // grant nothing until used by an account that nobody has asked for
	"resets.make", // grants nothing until it is used
	"resets.drop",
	...["add", "renewCodes", "dropPending"].map((verb) => `factors.${verb}`), // nobody is let in or out by them
	"sso.consume",
	"sso.forgetUsed",
	"trusts.exchange", // a token that nobody has asked for yet
	"trusts.forgetUsed",
	// Nobody's token, session, role or secret depends on an engine's configuration or on a lease.
	...["setConfig", "removeConfig", "keepGenerated"].map((verb) => `engines.${verb}`),
	...["begin", "activate", "doubt", "abort", "revoke", "revokeMany", "settle", "postpone", "hasten"].map(
		(verb) => `leases.${verb}`,
	),
	...["abandon", "reopen", "markLost", "delivered", "recover", "saveClock", "forget", "resume", "distrust"].map(
		(verb) => `leases.${verb}`,
	),
]);
const KEEPS_SECRETS = new Set([
	...[...KEEPS_ACCESS].filter((operation) => !operation.startsWith("secrets.")),
	"secrets.purgeDeleted", // nobody reads those
	"accounts.openSession", // it may end another session
	"factors.signIn", // as that
]);

const db = openWriter(join(await makeFolder({ after }), "svc.db"));
after(() => void db.close());
migrate(db, "");
trustAllRows(db);
const operations = Object.entries(allWrites(db, openChain(db).append)).flatMap(([noun, verbs]) =>
	Object.keys(verbs).map((verb) => `${noun}.${verb}`),
);

for (const operation of [...operations, "nouns.unknown"]) {
	const [access, secrets] = [KEEPS_ACCESS.has(operation), KEEPS_SECRETS.has(operation)];
	const kept = [access ? "who may do what" : "nobody's access", secrets ? "every secret" : "no secret"].join(" and ");
	test(`after ${operation}, also among harmless ones, ${kept} is remembered`, async () => {
		for (const batch of [[operation], ["health.probe", operation, "tokens.used"]]) {
			const { cache, asked, askAll } = setUp();
			await askAll();
			cache.forget(batch);
			asked.length = 0;
			await askAll();
			const again = asked.map((question) => question.split("(")[0]);
			assert.deepEqual(again, [
				...(access ? [] : ["session", "access"]),
				...(secrets ? [] : ["get"]),
				...(access ? [] : ["owner"]),
			]);
		}
	});
}

test("a batch of nothing forgets nothing", async () => {
	const { cache, asked, askAll } = setUp();
	await askAll();
	cache.forget([]);
	await askAll();
	assert.equal(asked.length, 4);
});

test("secrets that are large, or many, do not fill the cache", async () => {
	const { nouns, asked, answering } = setUp();
	const large = async (): Promise<SecretVersion> => ({
		...aVersion("r", "k"),
		version: 1,
		value: Buffer.alloc(256 * 1024),
	});
	answering(large);
	for (let count = 0; count < 100; count++) await nouns.secrets.get("realm", "dev", `key-${count}`);
	asked.length = 0;
	for (let count = 99; count >= 0; count--) await nouns.secrets.get("realm", "dev", `key-${count}`);
	assert.ok(asked.length > 80 && asked.length < 100, `${asked.length} of 100 were asked for again`);
});
