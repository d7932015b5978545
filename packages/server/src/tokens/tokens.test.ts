import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, test } from "node:test";
import { inspect } from "node:util";
import { AppError, type ErrorCode } from "../errors.ts";
import { type Actor, SCOPES, type Scope } from "../policy/model.ts";
import { openReader } from "../store/sqlite/open.ts";
import { actorOf } from "../testing/actor.ts";
import { factsOf } from "../testing/events.ts";
import { anEvent, aSession, aToken } from "../testing/rows.ts";
import { addAccount, addBinding, addRealm, openTestRules } from "../testing/rules.ts";
import { tokenLabel } from "./model.ts";
import { createToken, listTokens, type NewToken, revokeToken } from "./tokens.ts";

const ROLES = ["keyvalue:readonly", "keyvalue:admin", "totp"];
const rules = { ...(await openTestRules({ after })), hasRole: (name: string) => ROLES.includes(name) };
const { store, file } = rules;
const owner = await addAccount(store);
const other = await addAccount(store);
const first = await addRealm(store, owner, { slug: "first" });
const second = await addRealm(store, owner, { slug: "second" });
await addRealm(store, other, { slug: "foreign" });
await addBinding(store, first, other, "viewer");

for (const { id, password } of [owner, other])
	await store.accounts.openSession({ session: aSession(id, { jti: `of ${id}` }), password }, anEvent());
await store.tokens.create(aToken(owner.id, { id: "t" }), anEvent());

const SOON = "2030-06-01T00:00:00.000Z";
const LATER = "2031-06-01T00:00:00.000Z";

/** Makes the owner as a caller, with a session or, given restrictions, with an API token that has them. */
const maker = (given?: Partial<Actor>) =>
	actorOf(owner, given === undefined ? { jti: `of ${owner.id}` } : { token_id: "t", jti: undefined, ...given });
const make = (actor: Actor, given: Partial<NewToken> = {}) =>
	createToken(rules, actor, { name: "ci", scopes: ["read"], ...given });

/** Returns the code of the refusal, or the token's restrictions. */
async function outcome(attempt: ReturnType<typeof createToken>) {
	try {
		const { realm_id, environment, engines, expires_at } = await attempt;
		return { realm_id, environment, engines, expires_at };
	} catch (error) {
		assert.ok(error instanceof AppError, String(error));
		return error.code;
	}
}

const NONE = { realm_id: null, environment: null, engines: null, expires_at: null };

test("a token never has a scope that its maker lacks, whatever sets the two have", async () => {
	const sets = Array.from({ length: 8 }, (_, bits): Scope[] => SCOPES.filter((_scope, bit) => bits & (1 << bit)));
	for (const has of sets) {
		for (const wanted of sets.slice(1)) {
			const found = await outcome(make(maker({ scopes: has }), { scopes: wanted }));
			const isWithin = wanted.every((scope) => has.includes(scope));
			assert.deepEqual(found, isWithin ? NONE : "insufficient_scope", `${has.join()} made ${wanted.join()}`);
		}
	}
});

type Found = Awaited<ReturnType<typeof outcome>>;

/** A token for roles of engines only. */
const LIMITED: Partial<Actor> = { realm_id: first.id, engines: ["keyvalue:readonly", "totp"] };

/** Limits of the maker (a session when undefined), its request, and the result. */
const LIMITS: [maker: Partial<Actor> | undefined, wanted: Partial<NewToken>, found: Found][] = [
	[undefined, {}, NONE],
	[undefined, { realm: null, environment: null, expires_at: null }, NONE],
	[undefined, { realm: "first" }, { ...NONE, realm_id: first.id }],
	[undefined, { environment: "prod" }, { ...NONE, environment: "prod" }],
	[undefined, { expires_at: LATER }, { ...NONE, expires_at: LATER }],
	[undefined, { realm: "foreign" }, "not_found"],
	[undefined, { realm: "unknown" }, "not_found"],
	[undefined, { expires_at: "2030-01-01T00:00:00.000Z" }, "validation_failed"],
	[undefined, { expires_at: "2030-01-01T00:00:00.001Z" }, { ...NONE, expires_at: "2030-01-01T00:00:00.001Z" }],
	[undefined, { expires_at: "2029-12-31T23:59:59.999Z" }, "validation_failed"],
	[{}, {}, NONE],
	[{ realm_id: first.id }, {}, { ...NONE, realm_id: first.id }],
	[{ realm_id: first.id }, { realm: "first" }, { ...NONE, realm_id: first.id }],
	[{ realm_id: first.id }, { realm: "second" }, "insufficient_scope"],
	[{ realm_id: first.id }, { realm: null }, { ...NONE, realm_id: first.id }],
	[{ realm_id: first.id }, { realm: "foreign" }, "not_found"],
	[{ environment: "prod" }, {}, { ...NONE, environment: "prod" }],
	[{ environment: "prod" }, { environment: "prod" }, { ...NONE, environment: "prod" }],
	[{ environment: "prod" }, { environment: "dev" }, "insufficient_scope"],
	[{ environment: "prod" }, { environment: null }, { ...NONE, environment: "prod" }],
	[{ expires_at: SOON }, {}, { ...NONE, expires_at: SOON }],
	[{ expires_at: SOON }, { expires_at: SOON }, { ...NONE, expires_at: SOON }],
	[
		{ expires_at: SOON },
		{ expires_at: "2030-05-01T00:00:00.000Z" },
		{ ...NONE, expires_at: "2030-05-01T00:00:00.000Z" },
	],
	[{ expires_at: SOON }, { expires_at: "2030-06-01T00:00:00.001Z" }, "insufficient_scope"],
	[{ expires_at: SOON }, { expires_at: LATER }, "insufficient_scope"],
	[{ expires_at: SOON }, { expires_at: null }, { ...NONE, expires_at: SOON }],
	[
		{ realm_id: second.id, environment: "test", expires_at: SOON },
		{},
		{ ...NONE, realm_id: second.id, environment: "test", expires_at: SOON },
	],
	[{ realm_id: second.id, environment: "test", expires_at: SOON }, { realm: "first" }, "insufficient_scope"],
	[undefined, { engines: ["totp"] }, "validation_failed"],
	[undefined, { realm: "first", engines: ["totp"] }, { ...NONE, realm_id: first.id, engines: '["totp"]' }],
	[undefined, { realm: "first", engines: ["keyvalue:readwrite"] }, "validation_failed"],
	[undefined, { realm: "first", engines: ["totp", "keyvalue"] }, "validation_failed"],
	[
		undefined,
		{ realm: "first", environment: "dev", engines: ["totp"] },
		{ ...NONE, realm_id: first.id, environment: "dev", engines: '["totp"]' },
	],
	[LIMITED, {}, { ...NONE, realm_id: first.id, engines: '["keyvalue:readonly","totp"]' }],
	[LIMITED, { engines: ["totp"] }, { ...NONE, realm_id: first.id, engines: '["totp"]' }],
	[LIMITED, { engines: ["keyvalue:admin"] }, "insufficient_scope"],
	[LIMITED, { engines: ["none:unknown"] }, "insufficient_scope"],
	[LIMITED, { engines: ["totp", "keyvalue:admin"] }, "insufficient_scope"],
	[LIMITED, { environment: "dev" }, "insufficient_scope"],
	[LIMITED, { realm: "second" }, "insufficient_scope"],
	[{ realm_id: first.id, environment: "dev" }, { engines: ["totp"] }, "insufficient_scope"],
	[{ ...LIMITED, environment: "dev" }, { environment: "dev" }, { ...NONE, realm_id: first.id, environment: "dev" }],
	[{ ...LIMITED, environment: "dev" }, { engines: ["totp"] }, { ...NONE, realm_id: first.id, engines: '["totp"]' }],
	[{ ...LIMITED, environment: "dev" }, { environment: "prod", engines: ["totp"] }, "insufficient_scope"],
];
for (const [given, wanted, found] of LIMITS) {
	const who = given === undefined ? "a session" : `a token with ${JSON.stringify(given)}`;
	test(`${who} that asks for ${JSON.stringify(wanted)} gets ${JSON.stringify(found)}`, async () => {
		assert.deepEqual(await outcome(make(maker(given), wanted)), found);
	});
}

test("a token that was made by a token that was made by a token is limited as the first", async () => {
	let limits: Partial<Actor> = { realm_id: first.id, environment: "prod", expires_at: SOON, scopes: ["read", "write"] };
	for (let generation = 0; generation < 3; generation++) {
		const { realm_id, environment, expires_at } = await make(maker(limits), { scopes: ["read", "write"] });
		limits = { realm_id, environment, expires_at, scopes: ["read", "write"] };
	}
	assert.deepEqual(limits, { realm_id: first.id, environment: "prod", expires_at: SOON, scopes: ["read", "write"] });
});

test("a member of a realm may limit a token to it, whatever its role", async () => {
	const found = await createToken(rules, actorOf(other, { jti: `of ${other.id}` }), {
		name: "ci",
		scopes: ["read"],
		realm: "first",
	});
	assert.equal(found.realm_id, first.id);
});

test("the token itself is answered once and kept nowhere: neither in the database nor in the log", async () => {
	const { token, digest, prefix } = await make(maker());
	assert.deepEqual([digest, prefix], [hash("sha256", token, "buffer"), token.slice(0, 12)]);
	const reader = openReader(file);
	const rows = ["api_token", "audit_event"].flatMap((table) => reader.prepare(`SELECT * FROM ${table}`).all());
	reader.close();
	assert.ok(!inspect(rows, { depth: null, maxArrayLength: null }).includes(token.slice(4, 40)));
});

test("making a token is in the log with what it may do, and what is refused makes none", async () => {
	const before = await store.tokens.count(owner.id);
	const { id, ...made } = await make(maker({ environment: "prod" }), { expires_at: SOON });
	assert.equal(await outcome(make(maker({ scopes: [] }))), "insufficient_scope");
	assert.equal(await store.tokens.count(owner.id), before + 1);
	const scopes = [{ realm_ids: [""], actor: owner.id }];
	const query = { scopes, realm: undefined, actors: undefined };
	const [event] = await store.audit.list({ ...query, type: "auth.token.created" }, undefined, 1);
	assert.deepEqual(factsOf(event ?? assert.fail("no event")), {
		token_made: id,
		token_label: tokenLabel(made),
		limited_to: "",
		scopes: "read",
		environment: "prod",
		expires_at: SOON,
		request_id: "request",
		ip: "192.0.2.1",
		token_id: "t",
	});
});

test("a token that would exceed its maker is a refusal in the log", async () => {
	const scopes = [{ realm_ids: [""], actor: owner.id }];
	const query = { scopes, realm: undefined, actors: undefined };
	const refusals = () => store.audit.count({ ...query, type: "access.denied" });
	const before = await refusals();
	assert.equal(await outcome(make(maker({ environment: "prod" }), { environment: "dev" })), "insufficient_scope");
	assert.equal(await refusals(), before + 1);
});

const codeOf = (attempt: Promise<unknown>): Promise<ErrorCode | "done"> =>
	attempt.then(
		() => "done",
		(error: AppError) => error.code,
	);

test("a token may revoke itself always, another of the same user with the scope delete, and nobody else's ever", async () => {
	const [a, b, c] = [await make(maker()), await make(maker()), await make(maker())];
	const foreign = await createToken(rules, actorOf(other, { jti: `of ${other.id}` }), { name: "ci", scopes: ["read"] });
	const reading = (token_id: string) => maker({ token_id, scopes: ["read"] });
	assert.equal(await codeOf(revokeToken(rules, reading(a.id), b.id)), "insufficient_scope");
	assert.equal(await codeOf(revokeToken(rules, reading(a.id), a.id)), "done");
	assert.equal(await codeOf(revokeToken(rules, maker({ scopes: ["delete"] }), b.id)), "done");
	assert.equal(await codeOf(revokeToken(rules, maker(), c.id)), "done");
	for (const id of [a.id, foreign.id, "unknown", ""])
		assert.equal(await codeOf(revokeToken(rules, maker(), id)), "not_found");
	assert.ok(await store.tokens.byId(foreign.id));
});

test("a list shows the caller's own tokens, in the order in which they were made, with the scope read", async () => {
	const carol = await addAccount(store);
	const session = aSession(carol.id, { jti: "of carol" });
	await store.accounts.openSession({ session, password: carol.password }, anEvent());
	const made = [];
	for (let count = 0; count < 3; count++)
		made.push(await createToken(rules, actorOf(carol, { jti: "of carol" }), { name: "ci", scopes: ["read"] }));
	const { rows, pagination } = await listTokens(rules, actorOf(carol), { limit: 25, include_total: "true" });
	assert.deepEqual([rows.map((row) => row.id), pagination.total], [made.map((token) => token.id), 3]);
	assert.equal(
		await codeOf(listTokens(rules, actorOf(carol, { scopes: ["write"] }), { limit: 25 })),
		"insufficient_scope",
	);
});
