import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEvent } from "../audit/model.ts";
import { AppError, type ErrorCode } from "../errors.ts";
import type { RealmAccess } from "../realms/model.ts";
import { anActor } from "../testing/actor.ts";
import { aRealm } from "../testing/rows.ts";
import { createTestSystem } from "../testing/system.ts";
import {
	type Access,
	authorize,
	requireInstanceAdmin,
	requireScope,
	requireScopeOfAny,
	requireUnrestricted,
	requireWithinLimits,
} from "./authorize.ts";
import { type Actor, type Capability, ROLES, type Role, SCOPES, type Scope } from "./model.ts";

const REALM = aRealm("owner", { slug: "payments" });
const CAPABILITIES: readonly Capability[] = ROLES.admin;

/** Makes needs with one realm, in which the caller has this role, and the log's events. */
function needsWith(role: Role | null) {
	const events: AuditEvent[] = [];
	const access: RealmAccess = { ...REALM, role };
	const store = {
		realms: { access: async (slug: string) => (slug === REALM.slug ? access : undefined) },
		audit: { append: async (event: AuditEvent) => void events.push(event) },
	};
	return { events, store, system: createTestSystem() };
}

/** Returns the code of the refusal, or `allowed`. */
async function outcome(attempt: Promise<unknown>): Promise<ErrorCode | "allowed"> {
	try {
		await attempt;
		return "allowed";
	} catch (error) {
		assert.ok(error instanceof AppError, String(error));
		return error.code;
	}
}

/** Capabilities of each role, repeated from the table of the specification. */
const CAN: Record<Role, readonly Capability[]> = {
	admin: ["secrets:read", "secrets:write", "secrets:delete", "realms:manage", "policy:manage", "audit:read"],
	member: ["secrets:read", "secrets:write", "audit:read"],
	viewer: ["secrets:read", "audit:read"],
};

/** The scope that a capability needs when the action names none. */
const USUAL_SCOPE: Record<Capability, Scope> = {
	"secrets:read": "read",
	"secrets:write": "write",
	"secrets:delete": "delete",
	"realms:manage": "write",
	"policy:manage": "write",
	"audit:read": "read",
};

test("an action that names no scope needs its capability's, and one that names any is open to every token", async () => {
	const needs = needsWith("admin");
	for (const capability of CAPABILITIES) {
		for (const scopes of SCOPE_SETS) {
			const decide = (access: Partial<Access>) =>
				outcome(authorize(needs, anActor({ scopes }), "payments", { capability, ...access }));
			const expected = scopes.includes(USUAL_SCOPE[capability]) ? "allowed" : "insufficient_scope";
			assert.equal(await decide({}), expected, `${capability} of ${scopes.join()}`);
			assert.equal(await decide({ scope: "any" }), "allowed");
		}
	}
});

/** Every set of scopes that a token can have. */
const SCOPE_SETS: Scope[][] = Array.from({ length: 8 }, (_, bits) => SCOPES.filter((_scope, bit) => bits & (1 << bit)));

for (const role of [null, "viewer", "member", "admin"] as const) {
	for (const isAdminOnly of [false, true]) {
		const what = isAdminOnly ? "an admin's operation" : "an operation";
		test(`${what} is open to ${role ?? "a non-member"} exactly as capability and scope allow`, async () => {
			const needs = needsWith(role);
			for (const capability of CAPABILITIES) {
				for (const scope of SCOPES) {
					for (const scopes of SCOPE_SETS) {
						const found = await outcome(
							authorize(needs, anActor({ scopes }), "payments", { capability, scope, isAdminOnly }),
						);
						const isCapable = role !== null && CAN[role].includes(capability);
						const isScoped = scopes.includes(scope);
						const outside = isAdminOnly ? "forbidden" : "not_found";
						const refused = role === null ? outside : isCapable ? "insufficient_scope" : "forbidden";
						assert.equal(
							found,
							isCapable && isScoped ? "allowed" : refused,
							`${capability}, ${scope} of ${scopes.join()}`,
						);
					}
				}
			}
		});
	}
}

test("an unknown realm is 404 for everybody and everything, and nothing is in the log", async () => {
	const needs = needsWith("admin");
	for (const isAdminOnly of [false, true]) {
		const access: Access = { capability: "realms:manage", scope: "delete", isAdminOnly };
		assert.equal(await outcome(authorize(needs, anActor({ instance_admin: true }), "unknown", access)), "not_found");
	}
	assert.deepEqual(needs.events, []);
});

test("a realm that one is not in and a realm that is not there are answered alike", async () => {
	const answers = await Promise.all(
		["payments", "unknown"].map((slug) =>
			authorize(needsWith(null), anActor(), slug, { capability: "secrets:read", scope: "read" }).catch(JSON.stringify),
		),
	);
	assert.equal(answers[0], answers[1]);
});

test("the instance admin is nobody in a realm it is not in", async () => {
	const access: Access = { capability: "secrets:read", scope: "read" };
	assert.equal(
		await outcome(authorize(needsWith(null), anActor({ instance_admin: true }), "payments", access)),
		"not_found",
	);
});

test("what is allowed gives the realm, and nothing is in the log", async () => {
	const needs = needsWith("member");
	const realm = await authorize(needs, anActor(), "payments", { capability: "secrets:write", scope: "write" });
	assert.deepEqual(realm, { ...REALM, role: "member" });
	assert.deepEqual(needs.events, []);
});

const READ: Access = { capability: "secrets:read", scope: "read" };
const RESTRICTED: [given: Partial<Actor>, access: Access, expected: ErrorCode | "allowed"][] = [
	[{ realm_id: REALM.id }, READ, "allowed"],
	[{ realm_id: "another" }, READ, "not_found"],
	[{ realm_id: "another" }, { ...READ, isAdminOnly: true }, "forbidden"],
	[{ environment: "prod" }, { ...READ, environment: "prod" }, "allowed"],
	[{ environment: "prod" }, { ...READ, environment: "dev" }, "insufficient_scope"],
	[{ environment: "prod" }, READ, "insufficient_scope"],
	[{ environment: "prod" }, { ...READ, environment: undefined }, "insufficient_scope"],
	[{ environment: "prod" }, { capability: "realms:manage", scope: "delete", isAdminOnly: true }, "insufficient_scope"],
	[{ realm_id: REALM.id, environment: "prod" }, { ...READ, environment: "prod" }, "allowed"],
	[{ realm_id: REALM.id, environment: "prod" }, { ...READ, environment: "test" }, "insufficient_scope"],
	[{ realm_id: "another", environment: "prod" }, { ...READ, environment: "prod" }, "not_found"],
	[{ environment: "prod", scopes: ["write"] }, { ...READ, environment: "prod" }, "insufficient_scope"],
	[{ environment: "prod" }, { capability: "secrets:delete", scope: "delete", environment: "prod" }, "allowed"],
];
for (const [given, access, expected] of RESTRICTED) {
	test(`a token with ${JSON.stringify(given)} asking for ${JSON.stringify(access)} is ${expected}`, async () => {
		assert.equal(await outcome(authorize(needsWith("admin"), anActor(given), "payments", access)), expected);
	});
}

test("a realm-bound token of an admin meets the same 404 in another of its realms as a stranger", async () => {
	const bound = authorize(needsWith("admin"), anActor({ realm_id: "another" }), "payments", READ);
	const outside = authorize(needsWith(null), anActor(), "payments", READ);
	assert.equal(await bound.catch(JSON.stringify), await outside.catch(JSON.stringify));
});

const MESSAGES: [role: Role | null, access: Access, given: Partial<Actor>, pattern: RegExp][] = [
	["viewer", { capability: "secrets:write", scope: "write" }, {}, /\bviewer\b.*\bsecrets:write\b/],
	["member", { capability: "policy:manage", scope: "write", isAdminOnly: true }, {}, /\bpolicy\b/],
	[
		"member",
		{ capability: "realms:manage", scope: "delete", isAdminOnly: true },
		{},
		/^insufficient permissions: .*realms:manage/,
	],
	[null, { capability: "policy:manage", scope: "write", isAdminOnly: true }, {}, /\bpolicy\b/],
	["admin", READ, { scopes: ["write"] }, /\bscope read\b/],
	["admin", { ...READ, environment: "dev" }, { environment: "prod" }, /\banother environment$/],
	["admin", READ, { environment: "prod" }, /\bone environment\b/],
	[null, READ, {}, /^realm not found/],
];
for (const [role, access, given, pattern] of MESSAGES) {
	test(`a refusal names what is missing: ${pattern.source}`, async () => {
		await assert.rejects(authorize(needsWith(role), anActor(given), "payments", access), { message: pattern });
	});
}

test("a refusal is in the log, with who, where and what, before it is answered", async () => {
	const needs = needsWith("viewer");
	const order: string[] = [];
	const { append } = needs.store.audit;
	needs.store.audit.append = async (event) => {
		await new Promise((resolve) => setImmediate(resolve));
		await append(event);
		order.push("logged");
	};
	const actor = anActor({ token_id: "token" });
	await authorize(needs, actor, "payments", { capability: "secrets:write", scope: "write" }).catch(() =>
		order.push("answered"),
	);
	assert.deepEqual(order, ["logged", "answered"]);
	assert.deepEqual(needs.events, [
		{
			timestamp: "2030-01-01T00:00:00.000Z",
			type: "access.denied",
			actor: actor.user_id,
			cause: [actor.user_id, actor.user_id],
			realm_id: REALM.id,
			realm: "payments",
			data: {
				wanted: "secrets:write",
				reason: "forbidden",
				request_id: "request",
				ip: "192.0.2.1",
				token_id: "token",
				session_id: "session",
				machine: undefined,
			},
		},
	]);
});

test("a refusal that cannot be logged is no refusal that is answered", async () => {
	const needs = needsWith("viewer");
	needs.store.audit.append = () => Promise.reject(new AppError("unhealthy", "the disk is full"));
	const access: Access = { capability: "secrets:write", scope: "write" };
	assert.equal(await outcome(authorize(needs, anActor(), "payments", access)), "unhealthy");
});

const INSTANCE: [given: Partial<Actor>, expected: ErrorCode | "allowed", wanted: string | undefined][] = [
	[{ instance_admin: true }, "allowed", undefined],
	[{}, "forbidden", "instance"],
	[{ instance_admin: true, scopes: ["read", "delete"] }, "insufficient_scope", "write"],
	[{ instance_admin: true, realm_id: REALM.id }, "insufficient_scope", "instance"],
	[{ instance_admin: true, environment: "prod" }, "insufficient_scope", "instance"],
	[{ scopes: [], realm_id: REALM.id }, "forbidden", "instance"],
];
for (const [given, expected, wanted] of INSTANCE) {
	test(`what only the instance admin can do is ${expected} for ${JSON.stringify(given)}, and a refusal is in the log`, async () => {
		const needs = needsWith(null);
		assert.equal(await outcome(requireInstanceAdmin(needs, anActor(given), "write")), expected);
		assert.deepEqual(
			needs.events.map(({ type, realm_id, data }) => [type, realm_id, data.wanted, data.reason]),
			wanted === undefined ? [] : [["access.denied", "", wanted, expected]],
		);
	});
}

test("a scope outside any realm is needed as it is inside, and a refusal is in the log", async () => {
	const needs = needsWith(null);
	for (const scope of SCOPES) {
		for (const scopes of SCOPE_SETS) {
			const expected = scopes.includes(scope) ? "allowed" : "insufficient_scope";
			assert.equal(await outcome(requireScope(needs, anActor({ scopes }), scope)), expected);
		}
	}
	assert.equal(needs.events.length, 12);
	assert.equal(await outcome(requireUnrestricted(needs, anActor())), "allowed");
	assert.equal(await outcome(requireUnrestricted(needs, anActor({ realm_id: "r" }))), "insufficient_scope");
	assert.equal(needs.events.length, 13);
});

test("what names no environment is closed to a token for one, outside any realm as inside, and a refusal is in the log", async () => {
	const needs = needsWith(null);
	const limited = anActor({ environment: "prod" });
	assert.equal(await outcome(requireScope(needs, limited, "read")), "insufficient_scope");
	assert.equal(await outcome(requireUnrestricted(needs, limited)), "insufficient_scope");
	assert.equal(await outcome(requireWithinLimits(needs, limited, "engines")), "insufficient_scope");
	assert.equal(
		await outcome(requireWithinLimits(needs, limited, "engines", { environment: "dev" })),
		"insufficient_scope",
	);
	assert.deepEqual(
		needs.events.map(({ data }) => data.wanted),
		["read", "instance", "engines", "engines"],
	);
	assert.equal(await outcome(requireWithinLimits(needs, limited, "engines", { environment: "prod" })), "allowed");
	assert.equal(await outcome(requireWithinLimits(needs, anActor({ realm_id: "r" }), "engines")), "allowed");
	assert.equal(await outcome(requireScopeOfAny(needs, limited, "read")), "allowed");
	assert.equal(await outcome(requireScopeOfAny(needs, anActor({ scopes: [] }), "read")), "insufficient_scope");
});
