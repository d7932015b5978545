import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { aBinding, aKey, anAccount, anEvent, aRealm, aSession, aToken, aVersion, MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { drizzle } from "./drizzle.ts";
import { migrate } from "./migrate.ts";
import { accountReads } from "./reads/accounts.ts";
import { keyReads } from "./reads/keys.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { secretReads } from "./reads/secrets.ts";
import { tokenReads } from "./reads/tokens.ts";
import { allWrites } from "./writes/all.ts";
import { openChain } from "./writes/audit.ts";

/** Statements that were run, as drizzle hands them over and as SQLite saw them. */
const asked: [sql: string, params: unknown[]][] = [];
const ran: string[] = [];

const file = join(await makeFolder({ after }), "svc.db");
const db = new Database(file, { verbose: (sql) => ran.push(String(sql)) });
after(() => void db.close());
migrate(db, "");
const reader = drizzle({ client: db, logger: { logQuery: (sql, params) => asked.push([sql, params]) } });

/** How SQLite finds the rows of a statement. */
function planOf(sql: string, params: unknown[] = []): string[] {
	return (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[]).map(({ detail }) => detail);
}

const accounts = accountReads(reader);
const keys = keyReads(reader);
const policy = policyReads(reader);
const realms = realmReads(reader);
const secrets = secretReads(reader);
const tokens = tokenReads(reader);

/** Every question that a request may ask, and a word of the way in which it is answered. */
const QUESTIONS: Record<string, [ask: () => unknown, way: RegExp]> = {
	"accounts.byEmail": [() => accounts.byEmail("a@example.com"), /account .*\(email=\?\)/],
	"accounts.byId": [() => accounts.byId("a"), /account .*\(id=\?\)/],
	"accounts.list": [() => accounts.list("a", 10), /account .*\(id>\?\)/],
	"accounts.sessionOwner": [() => accounts.sessionOwner("j", "a", MADE_AT), /session USING PRIMARY KEY \(jti=\?\)/],
	"keys.fingerprint": [() => keys.fingerprint(), /meta USING PRIMARY KEY/],
	"keys.shared": [() => keys.shared(), /keyring_by_realm/],
	"keys.ofRealm": [() => keys.ofRealm("r"), /keyring_by_realm/],
	"keys.byId": [() => keys.byId(Buffer.alloc(8)), /keyring USING PRIMARY KEY/],
	"policy.list": [() => policy.list("r", "", 10), /binding .*\(realm_id=\?/],
	"policy.count": [() => policy.count("r"), /binding .*\(realm_id=\?/],
	"realms.access": [() => realms.access("slug", "a"), /realm_by_slug .*binding .*\(realm_id=\? AND user_id=\?\)/],
	"realms.list": [() => realms.list("a", undefined, "", 10), /realm_by_owner .*binding_by_user .*\(id=\?\)/],
	"realms.list of one": [() => realms.list("a", "r", "", 10), /realm_by_owner .*binding_by_user .*\(id=\?\)/],
	"realms.count": [() => realms.count("a", undefined), /realm_by_owner .*binding_by_user/],
	"realms.deletedBefore": [() => realms.deletedBefore(MADE_AT), /realm_deleted \(deleted_at>\? AND deleted_at<\?\)/],
	"secrets.get": [() => secrets.get("r", "dev", "k"), /\(secret_id=\?.*\(realm_id=\? AND environment=\? AND key=\?\)/],
	"secrets.version": [() => secrets.version("r", "dev", "k", 1), /\(secret_id=\? AND version=\?\).*AND key=\?\)/],
	"secrets.list": [() => secrets.list("r", "dev", 0, 10), /secret_by_realm \(realm_id=\? AND rowid>\?\)/],
	"secrets.list of all": [() => secrets.list("r", undefined, 0, 10), /secret_by_realm \(realm_id=\? AND rowid>\?\)/],
	"secrets.count": [() => secrets.count("r", "dev"), /secret .*\(realm_id=\?/],
	"secrets.history": [() => secrets.history("r", "dev", "k", 10, 10), /AND key=\?\).*\(secret_id=\? AND version<\?\)/],
	"secrets.countHistory": [() => secrets.countHistory("r", "dev", "k"), /AND key=\?\).*\(secret_id=\?\)/],
	"secrets.countExpiring": [() => secrets.countExpiring(MADE_AT), /secret_version_by_end/],
	"tokens.owner": [() => tokens.owner(Buffer.alloc(32)), /api_token .*\(digest=\?\)/],
	"tokens.byId": [() => tokens.byId("t"), /api_token .*\(id=\?\)/],
	"tokens.list": [() => tokens.list("a", "", 10), /api_token_by_user \(user_id=\?/],
	"tokens.count": [() => tokens.count("a"), /api_token_by_user \(user_id=\?/],
};

for (const [name, [ask, way]] of Object.entries(QUESTIONS)) {
	test(`${name} looks rows up by an index and reads no table from end to end`, () => {
		asked.length = 0;
		ask();
		assert.ok(asked.length > 0);
		const plan = asked.flatMap(([sql, params]) => planOf(sql, params));
		assert.deepEqual(
			plan.filter((step) => step.startsWith("SCAN")),
			[],
		);
		assert.match(plan.join("; "), way);
	});
}

test("what every request asks sorts nothing and makes no temporary table", () => {
	for (const name of ["accounts.sessionOwner", "tokens.owner", "realms.access", "secrets.get", "secrets.list"]) {
		asked.length = 0;
		QUESTIONS[name]?.[0]();
		const plan = asked.flatMap(([sql, params]) => planOf(sql, params)).join("; ");
		assert.doesNotMatch(plan, /TEMP B-TREE|MATERIALIZE/, name);
	}
});

test("the question for a secret, for a token and for a role joins no tables, which would be prepared anew each time", () => {
	for (const name of ["accounts.sessionOwner", "tokens.owner", "realms.access", "secrets.get", "secrets.version"]) {
		asked.length = 0;
		QUESTIONS[name]?.[0]();
		for (const [sql] of asked) assert.doesNotMatch(sql, /\bjoin\b/i, name);
	}
});

/** Every operation, so that each statement of each has run. */
function runEveryWrite(): void {
	const writes = allWrites(db, openChain(db).append);
	const event = anEvent();
	const [owner, other] = [anAccount(), anAccount()];
	const realm = aRealm(owner.id);
	const token = aToken(owner.id, { realm_id: realm.id });
	const version = aVersion(realm.id, "k");
	const removal = { realm_id: realm.id, environment: "dev", key: "k", deleted_at: MADE_AT };
	for (const account of [owner, other]) writes.accounts.register(account, event);
	writes.accounts.openSession({ session: aSession(owner.id), password: owner.password }, event);
	writes.accounts.setPassword({ user_id: owner.id, password: "new", keep: "none" }, event);
	writes.accounts.closeSession("none", event);
	writes.accounts.dropSessions(MADE_AT);
	writes.accounts.setDisabled({ user_id: other.id, disabled_at: MADE_AT }, event);
	writes.realms.create({ realm, key: aKey(realm.id) }, event);
	writes.policy.bind(aBinding(realm.id, other.id), event);
	writes.policy.unbind({ realm_id: realm.id, user_id: other.id }, event);
	writes.tokens.create(token, event);
	writes.tokens.used({ id: token.id, at: MADE_AT });
	for (let count = 0; count < 21; count++) writes.secrets.set(version, event);
	writes.secrets.remove(removal, event);
	writes.secrets.set(version, event);
	writes.tokens.revoke({ id: token.id, user_id: owner.id }, event);
	writes.keys.rotate({ key: aKey(realm.id) }, event);
	writes.realms.remove({ id: realm.id, deleted_at: MADE_AT }, event);
	writes.realms.purge(realm.id, event);
}

test("no operation reads a table from end to end, nor does what the database does on its own behalf", () => {
	ran.length = 0;
	runEveryWrite();
	const statements = new Set(ran.filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT)/i.test(sql)));
	assert.ok(statements.size > 40);
	const scans = [...statements]
		.filter((sql) => !sql.endsWith("LIMIT 1"))
		.flatMap((sql) => planOf(sql).map((step) => `${step} in ${sql}`))
		.filter((step) => step.startsWith("SCAN"));
	assert.deepEqual(scans, []);
});
