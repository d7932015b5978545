import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenLabel } from "../tokens/model.ts";
import type { EventType } from "./event-types.ts";
import type { GrantingRows } from "./granting-rows.ts";
import type { EventData } from "./model.ts";
import { LoggedRights } from "./rights.ts";

const NOTHING: GrantingRows = {
	accounts: [],
	realms: [],
	bindings: [],
	tokens: [],
	configs: [],
	providers: [],
	identities: [],
};

const T0 = Date.parse("2030-01-01T00:00:00.000Z");
const DAY_MS = 24 * 60 * 60 * 1000;

/** A log to which events are added, one a day. */
function aLog(rows?: GrantingRows) {
	const logged = new LoggedRights(rows);
	let seq = 0;
	return {
		add(type: EventType, actor: string, data: EventData = {}, realm_id = ""): void {
			const timestamp = new Date(T0 + seq * DAY_MS).toISOString();
			logged.take({
				seq: ++seq,
				timestamp,
				type,
				actor,
				realm_id,
				realm: "",
				data: JSON.stringify(data),
				hash: Buffer.of(),
			});
		},
		/** Names rows that differ from the log, with the event that says so. */
		against: (rows: Partial<GrantingRows>) =>
			logged
				.differences({ ...NOTHING, ...rows })
				.map(({ kind, id, problem, seq: at }) => [kind, id, problem, ...(at === undefined ? [] : [at])].join(" ")),
	};
}

/** A token as the row and its event have it. */
const aToken = (id: string, given: Partial<GrantingRows["tokens"][number]> = {}) => ({
	id,
	user_id: "ada",
	name: "ci",
	prefix: "svc_abcd",
	scopes: "read",
	realm_id: null,
	environment: null,
	engines: null,
	expires_at: null,
	...given,
});
const tokenMade = (token_made: string, given: EventData = {}): EventData => ({
	token_made,
	limited_to: "",
	scopes: "read",
	environment: "",
	expires_at: "",
	...given,
});

test("rows that events granted match the log; rows of no event, of another user or in another state do not", () => {
	const log = aLog();
	log.add("auth.register", "ada", { user_id: "ada", instance_admin: true });
	log.add("auth.register", "ada", { user_id: "bob", instance_admin: false });
	log.add("user.disabled", "ada", { user_id: "bob" });
	log.add("realm.created", "ada", {}, "r");
	log.add("policy.binding.created", "ada", { user_id: "bob", role: "viewer" }, "r");
	const ada = { id: "ada", instance_admin: 1, disabled_at: null };
	const bob = { id: "bob", instance_admin: 0, disabled_at: "then" };
	const realm = { id: "r", user_id: "ada", deleted_at: null };
	const binding = { realm_id: "r", user_id: "bob", role: "viewer" };
	const rows = { accounts: [ada, bob], realms: [realm], bindings: [binding] };
	assert.deepEqual(log.against(rows), []);
	assert.deepEqual(log.against({ ...rows, accounts: [ada, { ...bob, instance_admin: 1 }] }), ["account bob changed 3"]);
	assert.deepEqual(log.against({ ...rows, accounts: [ada, { ...bob, disabled_at: null }] }), ["account bob changed 3"]);
	assert.deepEqual(log.against({ ...rows, accounts: [ada, bob, { ...bob, id: "eve" }] }), ["account eve unknown"]);
	assert.deepEqual(log.against({ ...rows, realms: [{ ...realm, user_id: "bob" }] }), ["realm r changed 4"]);
	assert.deepEqual(log.against({ ...rows, bindings: [{ ...binding, role: "admin" }] }), ["binding r bob changed 5"]);
	assert.deepEqual(log.against({ ...rows, bindings: [] }), ["binding r bob missing 5"]);
	log.add("policy.binding.deleted", "ada", { user_id: "bob" }, "r");
	assert.deepEqual(log.against(rows), ["binding r bob ended 6"]);
});

test("an instance admin that is made or ended by an event differs from neither", () => {
	const log = aLog();
	log.add("auth.register", "bob", { user_id: "bob", instance_admin: false });
	log.add("user.disabled", "ada", { user_id: "bob" });
	log.add("user.admin.set", "ada", { user_id: "bob", instance_admin: true });
	const bob = { id: "bob", instance_admin: 1, disabled_at: "then" };
	assert.deepEqual(log.against({ accounts: [bob] }), []);
	log.add("user.admin.set", "ada", { user_id: "bob", instance_admin: false });
	assert.deepEqual(log.against({ accounts: [bob] }), ["account bob changed 4"]);
	assert.deepEqual(log.against({ accounts: [{ ...bob, instance_admin: 0 }] }), []);
});

test("a transfer ends the new owner's binding and leaves the old owner the role that was kept", () => {
	const log = aLog();
	log.add("realm.created", "ada", {}, "r");
	log.add("policy.binding.created", "ada", { user_id: "bob", role: "admin" }, "r");
	log.add("realm.transferred", "ada", { owner: "bob", was: "ada", kept_role: "admin" }, "r");
	const realms = [{ id: "r", user_id: "bob", deleted_at: null }];
	const kept = { realm_id: "r", user_id: "ada", role: "admin" };
	assert.deepEqual(log.against({ realms, bindings: [kept] }), []);
	assert.deepEqual(log.against({ realms: [{ ...realms[0], user_id: "ada" }] as typeof realms, bindings: [] }), [
		"realm r changed 3",
		"binding r ada missing 3",
	]);
	const old = { realm_id: "r", user_id: "bob", role: "admin" };
	assert.deepEqual(log.against({ realms, bindings: [kept, old] }), ["binding r bob ended 3"]);
	log.add("realm.transferred", "root", { owner: "ada", was: "bob" }, "r");
	assert.deepEqual(log.against({ realms: [{ id: "r", user_id: "ada", deleted_at: null }] }), []);
});

test("deleting a realm ends its configurations, and purging it ends everything in it", () => {
	const log = aLog();
	log.add("realm.created", "ada", {}, "r");
	log.add("engine.config.set", "ada", { engine: "keyvalue", config_id: "one" }, "r");
	log.add("engine.config.set", "ada", { engine: "keyvalue", config_id: "common" });
	log.add("auth.token.created", "ada", tokenMade("t", { limited_to: "r" }));
	const configs = [
		{ id: "one", engine: "keyvalue", realm_id: "r" },
		{ id: "common", engine: "keyvalue", realm_id: "" },
	];
	const tokens = [aToken("t", { realm_id: "r" })];
	const realms = [{ id: "r", user_id: "ada", deleted_at: null }];
	assert.deepEqual(log.against({ realms, configs, tokens }), []);
	log.add("realm.deleted", "ada", {}, "r");
	assert.deepEqual(log.against({ realms, configs, tokens }), ["realm r changed 5", "engine keyvalue r ended 5"]);
	log.add("realm.purged", "system", {}, "r");
	assert.deepEqual(log.against({ realms, tokens }), ["realm r ended 6", "token t ended 6"]);
	assert.deepEqual(log.against({ configs: configs.slice(1) }), []);
});

test("revoking a token ends the tokens it made; a token may be missing or end earlier than the log says, but not later", () => {
	const log = aLog();
	log.add(
		"auth.token.created",
		"ada",
		tokenMade("first", { expires_at: "2031", environment: "dev", engines: "a:b,a:c" }),
	);
	log.add("auth.token.created", "ada", tokenMade("second", { token_id: "first" }));
	log.add("auth.token.created", "ada", tokenMade("third", { token_id: "second" }));
	log.add("auth.token.created", "ada", tokenMade("other"));
	const first = aToken("first", { expires_at: "2031", environment: "dev", engines: '["a:b","a:c"]' });
	const tokens = [first, ...["second", "third", "other"].map((id) => aToken(id))];
	assert.deepEqual(log.against({ tokens }), []);
	assert.deepEqual(log.against({ tokens: [{ ...first, expires_at: "2030" }] }), []);
	assert.deepEqual(log.against({ tokens: [{ ...first, expires_at: null }] }), ["token first changed 1"]);
	assert.deepEqual(log.against({ tokens: [{ ...first, engines: null }] }), ["token first changed 1"]);
	log.add("auth.token.revoked", "ada", { token_revoked: "first" });
	assert.deepEqual(log.against({ tokens }), ["token first ended 5", "token second ended 5", "token third ended 5"]);
});

test("a token under another's name or prefix, by which people revoke it, differs; an older event tells neither", () => {
	const log = aLog();
	const token_label = tokenLabel({ name: "ci", prefix: "svc_abcd" });
	log.add("auth.token.created", "ada", tokenMade("t", { token_label }));
	log.add("auth.token.created", "ada", tokenMade("older"));
	assert.deepEqual(log.against({ tokens: [aToken("t"), aToken("older", { name: "x", prefix: "y" })] }), []);
	for (const given of [{ name: "deploy" }, { prefix: "svc_efgh" }])
		assert.deepEqual(log.against({ tokens: [aToken("t", given)] }), ["token t changed 1"]);
});

test("revoking access ends the tokens and recent links of the event, except the token that made the request", () => {
	const log = aLog();
	log.add("auth.login", "ada", { arrival: "created", identity_id: "own" });
	log.add("sso.identity.linked", "ada", { identity_id: "young" });
	for (const id of ["mine", "limited"])
		log.add("auth.token.created", "ada", tokenMade(id, { limited_to: id === "mine" ? "" : "r" }));
	log.add("auth.token.created", "bob", tokenMade("theirs", { limited_to: "r" }));
	const accounts = [{ id: "ada", instance_admin: 0, disabled_at: null }];
	const tokens = [
		aToken("mine"),
		aToken("limited", { realm_id: "r" }),
		aToken("theirs", { user_id: "bob", realm_id: "r" }),
	];
	const identities = ["own", "young"].map((id) => ({ id, user_id: "ada" }));
	const rows = { accounts, tokens, identities };
	assert.deepEqual(log.against(rows), []);
	log.add("access.revoked", "root", { user_id: "ada", identities: 0 }, "r");
	assert.deepEqual(log.against(rows), ["token limited ended 6"]);
	log.add("access.revoked", "root", { user_id: "ada", identities: 1, token_id: "mine" });
	assert.deepEqual(log.against(rows), ["token limited ended 6", "identity young ended 7"]);
});

test("a realm's tokens that a part of a revocation left stay valid until the event of the last part", () => {
	const log = aLog();
	log.add("auth.token.created", "ada", tokenMade("t", { limited_to: "r" }));
	const rows = { tokens: [aToken("t", { realm_id: "r" })] };
	log.add("access.revoked", "root", { more: true }, "r");
	assert.deepEqual(log.against(rows), []);
	log.add("access.revoked", "root", {}, "r");
	assert.deepEqual(log.against(rows), ["token t ended 3"]);
});

test("identities and providers that older events do not name are skipped; all others are compared", () => {
	const log = aLog();
	log.add("auth.login", "ada", { arrival: "linked" });
	log.add("auth.login", "bob", { arrival: "linked", identity_id: "known" });
	log.add("sso.provider.set", "ada", { provider: "old" });
	log.add("sso.provider.set", "ada", { provider: "new", provider_id: "p" });
	const identities = [
		{ id: "any", user_id: "ada" },
		{ id: "known", user_id: "bob" },
	];
	const providers = [
		{ name: "old", id: "x" },
		{ name: "new", id: "p" },
	];
	assert.deepEqual(log.against({ identities, providers }), []);
	const forged = {
		identities: [
			{ id: "any", user_id: "bob" },
			{ id: "known", user_id: "ada" },
		],
		providers: [{ name: "new", id: "x" }],
	};
	assert.deepEqual(log.against(forged), ["provider new changed 4", "identity any unknown", "identity known changed 2"]);
	log.add("sso.identity.unlinked", "bob", { identity_id: "known" });
	log.add("sso.provider.deleted", "ada", { provider: "new" });
	assert.deepEqual(log.against({ identities, providers }), ["provider new ended 6", "identity known ended 5"]);
});

test("given the rows, it remembers the ends of existing ones only, and names the same", () => {
	const tokens = [aToken("back"), aToken("made")];
	const log = aLog({ ...NOTHING, tokens });
	for (const id of ["back", "gone", "first"]) log.add("auth.token.created", "ada", tokenMade(id));
	log.add("auth.token.created", "ada", tokenMade("made", { token_id: "first" }));
	for (const token_revoked of ["back", "gone", "first"]) log.add("auth.token.revoked", "ada", { token_revoked });
	assert.deepEqual(log.against({ tokens }), ["token back ended 5", "token made ended 7"]);
	assert.deepEqual(log.against({ tokens: [aToken("gone")] }), ["token gone unknown"], "it forgot");
});
