import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { runEveryWrite } from "../../testing/every-write.ts";
import { MADE_AT } from "../../testing/rows.ts";
import { makeFolder, trustAllRows } from "../../testing/store.ts";
import { drizzle } from "./drizzle.ts";
import { leaseLists } from "./lease-lists.ts";
import { migrate } from "./migrate.ts";
import { accountReads } from "./reads/accounts.ts";
import { engineReads } from "./reads/engines.ts";
import { factorReads } from "./reads/factors.ts";
import { invitationReads } from "./reads/invitations.ts";
import { keyReads } from "./reads/keys.ts";
import { leaseReads } from "./reads/leases.ts";
import { machineReads } from "./reads/machines.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { resetReads } from "./reads/resets.ts";
import { secretReads } from "./reads/secrets.ts";
import { tokenReads } from "./reads/tokens.ts";
import { trustReads } from "./reads/trusts.ts";
import { secretCounts } from "./secret-counts.ts";
import { secretLifecycle } from "./secret-lifecycle.ts";
import { secretPages } from "./secret-pages.ts";
import { limitTime } from "./time-limit.ts";
import { openChain } from "./tip.ts";
import { tokenLineage } from "./token-lineage.ts";
import { allWrites } from "./writes/all.ts";

/** Statements that were run. */
const ran: string[] = [];

const db = new Database(join(await makeFolder({ after }), "svc.db"), { verbose: (sql) => ran.push(String(sql)) });
after(() => void db.close());
migrate(db, "");
trustAllRows(db);
limitTime(db);
const reader = drizzle({ client: db });
const KNOWN = { pair: Buffer.alloc(32), seen_at: MADE_AT, renew_before: MADE_AT };
/** Explains how SQLite finds the rows of a statement. */
function planOf(sql: string): string[] {
	return (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail);
}

/** Asks a question. @returns the statements that were run for it */
function statementsOf(ask: () => unknown = () => undefined): string[] {
	ran.length = 0;
	ask();
	assert.ok(ran.length > 0);
	return [...ran];
}

/** Tells whether a step reads a table from end to end. A parameter's list, the targets of leases and their sums, and what a step before it found do not count. */
function isScan(step: string): boolean {
	return /^SCAN (?!(CONSTANT|ending|open|json_each|lease_count|lineage|makers|mine|near)\b)/.test(step);
}
const accounts = accountReads(reader, db);
const engines = engineReads(reader);
const invitations = invitationReads(reader);
const keys = keyReads(reader);
const leases = leaseReads(reader);
const machines = machineReads(reader);
const policy = policyReads(reader);
const realms = realmReads(reader);
const factors = factorReads(reader);
const resets = resetReads(reader);
const secrets = secretReads(reader, db);
const tokens = tokenReads(reader);
const ending = secretLifecycle(db);
const pages = secretPages(db);
const trusts = trustReads(reader);

/** Every question that a request may ask, and a part of its query plan. */
const QUESTIONS: Record<string, [ask: () => unknown, way: RegExp]> = {
	"accounts.byEmail": [() => accounts.byEmail("a@example.com"), /account .*\(email=\?\)/],
	"accounts.byId": [() => accounts.byId("a"), /account .*\(id=\?\)/],
	"accounts.startingWith": [() => accounts.startingWith("a@", 10), /account .*\(email>\? AND email<\?\)/],
	"accounts.list": [() => accounts.list("a", 10), /account .*\(id>\?\)/],
	"accounts.holdings": [() => accounts.holdings("a", MADE_AT), /session_by_user .*api_token_in_order .*realm_by_owner/],
	"accounts.limits": [() => accounts.limits("a"), /account_limit USING PRIMARY KEY/],
	"accounts.isKnownSource": [() => accounts.isKnownSource([KNOWN.pair], MADE_AT), /known_source .* KEY \(pair=\?\)/],
	"accounts.sessions": [() => accounts.sessions("a", MADE_AT, "", 10), /session USING INDEX session_by_user/],
	"accounts.sessionOwner": [() => accounts.sessionOwner("j", "a", MADE_AT), /session USING PRIMARY KEY \(jti=\?\)/],
	"engines.config": [() => engines.config("e", "r", "active"), /engine_config_by_scope \(realm_id=\? AND engine=\?\)/],
	"engines.configById": [() => engines.configById("c"), /engine_config .*\(id=\?\)/],
	"engines.isFormer": [
		() => engines.isFormer("e", "r"),
		/engine_former_realm USING PRIMARY KEY \(engine=\? AND realm_id=\?\)/,
	],
	"invitations.byDigest": [() => invitations.byDigest(Buffer.alloc(32), MADE_AT), /invitation_by_digest \(digest=\?\)/],
	"invitations.forEmail": [
		() => invitations.forEmail("a@example.com", MADE_AT),
		/invitation_(in_order|by_maker) \(created_by=\?\).*account_instance_admin.*invitation_by_email \(email=\?\)/,
	],
	"invitations.list": [() => invitations.list("a", MADE_AT, "", 10), /invitation_in_order \(created_by=\? AND id>\?\)/],
	"invitations.list of all": [() => invitations.list("", MADE_AT, "", 10), /invitation .*\(id>\?\)/],
	"invitations.count": [() => invitations.count("a", MADE_AT), /invitation_in_order \(created_by=\?\)/],
	"keys.fingerprint": [() => keys.fingerprint(), /meta USING PRIMARY KEY/],
	"keys.shared": [() => keys.shared(), /keyring_by_realm/],
	"keys.ofRealm": [() => keys.ofRealm("r"), /keyring_by_realm/],
	"keys.byId": [() => keys.byId(Buffer.alloc(8)), /keyring USING PRIMARY KEY/],
	"leases.byId": [() => leases.byId("l"), /lease .*\(id=\?\)/],
	"leases.byCredential": [
		() => leases.byCredential({ target: "t", scope: "", name: "n" }),
		/lease_by_credential \(target=\? AND scope=\? AND name=\?\)/,
	],
	"leases.byNames": [
		() => leases.byNames("t", "", ["n"]),
		/lease_by_credential \(target=\? AND scope=\? AND name=\?\)/,
	],
	"leases.due": [() => leases.due("t", 1, 500), /lease_due \(target=\? AND due_at>\? AND due_at<\?\)/],
	"leases.activeAt": [
		() => leases.activeAt("t", { due_at: 1, id: "l" }, 500),
		/lease_due \(target=\? AND due_at>\?\); USE TEMP B-TREE FOR LAST TERM/,
	],
	"leases.openTargets": [
		() => leases.openTargets(),
		/COVERING INDEX lease_due; .*COVERING INDEX lease_due \(target>\?\)/,
	],
	"leases.nextDue": [() => leases.nextDue(), /COVERING INDEX lease_due \(target=\? AND due_at>\?\)/],
	"leases.counts": [() => leases.counts(), /^SCAN lease_count/],
	"leases.clock": [() => leases.clock(), /meta USING PRIMARY KEY/],
	"policy.list": [() => policy.list("r", "", 10), /binding_in_order \(realm_id=\? AND id>\?\)/],
	"policy.count": [() => policy.count("r"), /COVERING INDEX binding_in_order \(realm_id=\?/],
	"machines.byName": [() => machines.byName("r", "m"), /machine .*\(realm_id=\? AND name=\?\)/],
	"machines.byId": [() => machines.byId("m"), /machine .*\(id=\?\)/],
	"machines.list": [() => machines.list("r", "", 10), /machine .*\(realm_id=\? AND name>\?\)/],
	"machines.count": [() => machines.count("r"), /machine .*\(realm_id=\?\)/],
	"machines.tokens": [() => machines.tokens("m", "", 10), /machine_token_in_order \(machine_id=\? AND id>\?\)/],
	"machines.countTokens": [() => machines.countTokens("m"), /COVERING INDEX machine_token_in_order/],
	"realms.access": [
		() => realms.access("slug", "a"),
		/realm_by_slug .*binding .*\(realm_id=\? AND user_id=\?\).*machine .*\(id=\?\)/,
	],
	"realms.named": [() => realms.named(["r"]), /realm .*\(id=\?\)/],
	"realms.list": [() => realms.list("a", undefined, "", 10), /realm_by_owner .*binding_by_user .*\(id=\?\)/],
	"realms.list of one": [() => realms.list("a", "r", "", 10), /realm_by_owner .*binding_by_user .*\(id=\?\)/],
	"realms.count": [() => realms.count("a", undefined), /realm_by_owner .*binding_by_user/],
	"realms.findDeleted": [
		() => realms.findDeleted({ user_id: "a", since: MADE_AT, slug: "s", id: undefined }),
		/realm_deleted_by_slug \(slug=\? AND deleted_at>\?\)/,
	],
	"realms.deletedBefore": [
		() => realms.deletedBefore(MADE_AT, 10),
		/realm_deleted \(deleted_at>\? AND deleted_at<\?\)/,
	],
	"factors.isLacking": [() => factors.isLacking("j", "a"), /session USING PRIMARY KEY \(jti=\?\)/],
	"factors.ofUser": [() => factors.ofUser("a"), /factor USING INDEX factor_by_user \(user_id=\?\)/],
	"factors.recoveryCodes": [() => factors.recoveryCodes("a"), /recovery_codes USING PRIMARY KEY \(user_id=\?\)/],
	"resets.ofUser": [() => resets.ofUser("a", MADE_AT), /reset_code USING PRIMARY KEY \(user_id=\?\)/],
	"secrets.get": [() => secrets.get("r", "dev", "k"), /\(secret_id=\?.*\(realm_id=\? AND environment=\? AND key=\?\)/],
	"secrets.version": [() => secrets.version("r", "dev", "k", 1), /\(secret_id=\? AND version=\?\).*AND key=\?\)/],
	"secrets.list": [() => secrets.list("r", "dev", "", 10), /secret_live \(realm_id=\? AND rowid>\?\)/],
	"secrets.list of all": [() => secrets.list("r", undefined, "", 10), /secret_live \(realm_id=\? AND rowid>\?\)/],
	"secrets.count": [() => secretCounts(db).count("r", "dev"), /COVERING INDEX secret_counted \(realm_id=\? AND env/],
	"secrets.history": [() => secrets.history("r", "dev", "k", 10, 10), /AND key=\?\).*\(secret_id=\? AND version<\?\)/],
	"secrets.countHistory": [() => secrets.countHistory("r", "dev", "k"), /AND key=\?\).*\(secret_id=\?\)/],
	"secrets.countExpiring": [() => ending.countExpiring(MADE_AT, 10), /secret_version_by_end/],
	"secrets.deleted": [
		() => ending.deleted("r", "dev", MADE_AT, "", 10),
		/deleted_secret_by_realm \(realm_id=\? AND id>\?\)/,
	],
	"secrets.countDeleted": [() => ending.countDeleted("r", "dev", MADE_AT), /deleted_secret.*\(realm_id=\?/],
	"a far page of secrets": [() => pages.list("r", "dev", "", 10), /secret_live \(realm_id=\? AND rowid>\?\)/],
	"whether a page is near": [() => pages.isNear("r", "dev", "", 10), /secret_live \(realm_id=\? AND rowid>\?\)/],
	"tokens.owner": [() => tokens.owner(Buffer.alloc(32)), /api_token .*\(digest=\?\).*machine_token .*\(digest=\?\)/],
	"tokens.byId": [() => tokens.byId("t"), /api_token .*\(id=\?\)/],
	"tokens.list": [() => tokens.list("a", "", 10), /api_token_in_order \(user_id=\? AND id>\?\)/],
	"tokens.count": [() => tokens.count("a"), /COVERING INDEX api_token_in_order \(user_id=\?\)/],
	"trusts.byName": [() => trusts.byName("m", "t"), /trust .*\(machine_id=\? AND name=\?\)/],
	"trusts.list": [() => trusts.list("m", "", 10), /trust .*\(machine_id=\? AND name>\?\)/],
	"trusts.count": [() => trusts.count("m"), /trust .*\(machine_id=\?\)/],
};

for (const [name, [ask, way]] of Object.entries(QUESTIONS)) {
	test(`${name} looks rows up by an index and reads no table from end to end`, () => {
		const plan = statementsOf(ask).flatMap(planOf);
		assert.deepEqual(plan.filter(isScan), []);
		assert.match(plan.join("; "), way);
	});
}

const LISTS: Record<string, [filter: Parameters<typeof lists.list>[0], way: RegExp]> = {
	everything: [{ realm_id: "", engine: "", state: "" }, /sqlite_autoindex_lease_1 \(id<\?\)/],
	"what is active": [{ realm_id: "", engine: "", state: "active" }, /lease_open \(state=\? AND id<\?\)/],
	"what is revoked": [{ realm_id: "", engine: "", state: "revoked" }, /sqlite_autoindex_lease_1 \(id<\?\)/],
	"a realm's": [{ realm_id: "r", engine: "", state: "" }, /lease_by_realm \(realm_id=\? AND id<\?\)/],
	"what is uncertain in a realm": [
		{ realm_id: "r", engine: "", state: "uncertain" },
		/lease_open_of_realm \(realm_id=\? AND state=\? AND id<\?\)/,
	],
	"an engine's in a realm": [{ realm_id: "r", engine: "e", state: "" }, /lease_by_realm \(realm_id=\? AND id<\?\)/],
};
const lists = leaseLists(db);
for (const [what, [filter, way]] of Object.entries(LISTS)) {
	test(`a list of leases that is ${what} goes by an index from newest to oldest, and a count by one too`, () => {
		ran.length = 0;
		lists.list(filter, "~", 25);
		lists.count(filter);
		const [list, count] = ran.map((sql) => planOf(sql).join("; "));
		assert.match(list ?? "", way);
		assert.doesNotMatch(list ?? "", /TEMP B-TREE/);
		assert.match(count ?? "", filter.realm_id === "" ? /lease_count/ : /SEARCH lease USING .*\(realm_id=\?/);
	});
}

test("what a token made is found by an index", () => {
	ran.length = 0;
	const lineage = tokenLineage(db);
	lineage.listLineage("t", "", 25);
	lineage.countLineage("t");
	for (const sql of [...ran]) {
		const plan = planOf(sql);
		assert.match(plan.join("; "), /SEARCH main.api_token USING .*api_token_by_maker \(maker_id=\?\)/);
		assert.deepEqual(plan.filter(isScan), []);
	}
});

test("versions are looked up by the index of their numbers, each once", () => {
	const plans = statementsOf(() => secrets.versionsAt([{ secret_id: 1, version: 1, bytes: 1 }])).map(planOf);
	assert.equal(plans.length, 1);
	assert.deepEqual(plans.flat().filter(isScan), []);
	assert.match(
		plans.flat().join("; "),
		/SCAN json_each .*SEARCH s .*\(rowid=\?\).*SEARCH v .*\(secret_id=\? AND version=\?\)/,
	);
});

test("a page of a list is read in index order, and no further", () => {
	for (const name of [
		"tokens.list",
		"policy.list",
		"machines.list",
		"machines.tokens",
		"trusts.list",
		"accounts.sessions",
	]) {
		const plan = statementsOf(QUESTIONS[name]?.[0]).flatMap(planOf).join("; ");
		assert.doesNotMatch(plan, /TEMP B-TREE/, name);
	}
	const [page] = ["invitations.list"].flatMap((name) => statementsOf(QUESTIONS[name]?.[0])).map(planOf);
	assert.doesNotMatch(page?.join("; ") ?? "", /TEMP B-TREE/);
});

test("what every request asks sorts nothing and makes no temporary table", () => {
	for (const name of ["accounts.sessionOwner", "tokens.owner", "realms.access", "secrets.get", "secrets.list"]) {
		const plan = statementsOf(QUESTIONS[name]?.[0]).flatMap(planOf).join("; ");
		assert.doesNotMatch(plan, /TEMP B-TREE|MATERIALIZE/, name);
	}
});

test("the question for a secret, for a token and for a role joins no tables, which would be prepared again each time", () => {
	for (const name of ["accounts.sessionOwner", "tokens.owner", "realms.access", "secrets.get", "secrets.version"]) {
		for (const sql of statementsOf(QUESTIONS[name]?.[0])) assert.doesNotMatch(sql, /\bjoin\b/i, name);
	}
});

ran.length = 0;
runEveryWrite(allWrites(db, openChain(db).append));
const written = [...new Set(ran.filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT)/i.test(sql)))];

test("no operation reads a table from end to end, nor does what the database does on its own behalf", () => {
	assert.ok(written.length > 70, `${written.length}`);
	const scans = written
		.filter((sql) => !sql.endsWith("LIMIT 1"))
		.flatMap((sql) => planOf(sql).map((step) => `${step} in ${sql}`))
		.filter(isScan);
	assert.deepEqual(scans, []);
});

/** Statements of operations on leases by a part of their text, and the index they must use: closed rows are kept for months. */
const WAYS: [what: string, part: RegExp, way: RegExp][] = [
	[
		"the limit is looked up",
		/^SELECT coalesce\(sum\(count/,
		/lease_count USING PRIMARY KEY .*\(engine=\? AND config_realm_id=\?/,
	],
	["a name is looked up", /^SELECT 1 FROM lease WHERE/, /lease_by_credential \(target=\? AND scope=\? AND name=\?\)/],
	["a configuration waits for its leases", /^DELETE FROM engine_config WHERE/, /lease_by_config \(config_id=\?\)/],
	[
		"a lease's configuration may go with it",
		/^DELETE FROM engine_config WHERE \(/,
		/engine_config_by_scope \(realm_id=\? AND engine=\?\)/,
	],
	["a realm's leases are revoked", /'requested'.*AND realm_id =/, /lease_open_of_realm \(realm_id=\? AND state=\?\)/],
	["anybody's leases are revoked", /'requested'.*NOT NULL +AND \(/, /lease_open \(state=\?\)/],
	["a realm is deleted", /'realm_deleted'.*AND realm_id =/, /lease_open_of_realm \(realm_id=\? AND state=\?\)/],
	["intents are recovered", /WHERE state = 'intent' AND due_at/, /lease_open \(state=\?\)/],
	["what was put off is hastened", /SET due_at.*rowid IN/, /lease_put_off \(target=\? AND due_at>\? AND due_at<\?\)/],
	["what was closed is forgotten", /^DELETE FROM lease/, /COVERING INDEX lease_closed \(closed_at<\?\)/],
];

for (const [what, part, way] of WAYS) {
	test(`when ${what}, the index for it is used`, () => {
		const statement = written.find((sql) => part.test(sql)) ?? assert.fail("no such statement was run");
		assert.match(planOf(statement).join("; "), way);
	});
}
