import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { MADE_AT } from "../../testing/rows.ts";
import { makeFolder } from "../../testing/store.ts";
import { drizzle } from "./drizzle.ts";
import { madeByUser } from "./made-by-user.ts";
import { migrate } from "./migrate.ts";
import { accountReads } from "./reads/accounts.ts";
import { invitationReads } from "./reads/invitations.ts";
import { machineReads } from "./reads/machines.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { secretListReads } from "./reads/secret-lists.ts";
import { tokenReads } from "./reads/tokens.ts";
import { trustReads } from "./reads/trusts.ts";
import { realmLists } from "./realm-lists.ts";
import { guardReads } from "./row-guard.ts";
import { secretCounts } from "./secret-counts.ts";
import { secretPages } from "./secret-pages.ts";

const ROWS = 1000;
const [BEFORE, LATER] = ["2029-12-31", "2031"];

/** Statements that were run. */
const ran: string[] = [];
/** Rows whose MACs were compared: each takes 10 to 20 µs. */
let checked = 0;

const db = new Database(join(await makeFolder({ after }), "svc.db"), { verbose: (sql) => ran.push(String(sql)) });
after(() => void db.close());
migrate(db, "");
const check = () => {
	checked++;
	return null;
};
guardReads(db, { fits: () => true, usual: check, names: "" });
db.pragma("foreign_keys = OFF");

/** Fills a table with rows, each column by an expression over their number `i`. */
function fill(table: string, columns: Record<string, string>): void {
	const numbers = `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1})`;
	const names = Object.keys(columns).join(", ");
	db.exec(`INSERT INTO ${table} (${names}) ${numbers} SELECT ${Object.values(columns).join(", ")} FROM n`);
}
const ID = "printf('%04d', i)";
const AT = `'${MADE_AT}'`;
const made = { id: ID, created_by: "'u'", created_at: AT };
const digest = "randomblob(32)";

fill("api_token", { id: ID, user_id: "'u'", name: "''", prefix: "''", digest, scopes: "'read'", created_at: AT });
// Half of the realms are the user's own, and one of ten is deleted.
const deleted_at = "iif(i % 10 = 9, '2029', NULL)";
const user_id = "iif(i % 2 = 0, 'u', 'other')";
fill("realm", { id: ID, slug: ID, name: "''", description: "''", user_id, created_at: AT, deleted_at });
fill("binding", { id: ID, realm_id: ID, user_id: "'u'", role: "'viewer'", granted_by: "''", created_at: AT });
fill("binding", {
	...{ id: "'m' || i", realm_id: "'r'", user_id: "'m' || i", role: "'viewer'" },
	...{ granted_by: "''", created_at: AT },
});
const machine = { name: ID, role: "'viewer'", scopes: "'read'", description: "''" };
fill("machine", { ...made, ...machine, realm_id: ID });
const machineToken = { machine_id: "'0000'", name: "''", prefix: "''", digest, expires_at: `'${LATER}'` };
fill("machine_token", { ...made, ...machineToken });
const trust = { machine_id: "'0000'", name: ID, type: "'oidc'", audience: "''", claims: "''" };
fill("trust", { ...made, ...trust, max_ttl_ms: "1", single_use: "0" });
fill("invitation", { ...made, email: ID, digest, expires_at: `'${LATER}'` });
fill("invitation_binding", { invitation_id: ID, realm_id: "'0000'", role: "'viewer'" });
const secret = { realm_id: "'r'", environment: "'dev'", key: ID, version: "1", created_at: AT };
fill("secret", secret);
const version = { version: "1", pre_encrypted: "0", comment: "''", created_by: "'u'", created_at: AT };
fill("secret_version", { ...version, secret_id: "i + 1", id: ID, value: "zeroblob(9)" });

const reader = drizzle({ client: db });
const invitations = invitationReads(reader);
const machines = machineReads(reader);
const policy = policyReads(reader);
const realms = { ...realmReads(reader), ...realmLists(db) };
const tokens = tokenReads(reader);
const revocations = madeByUser(db);
const deleted = { user_id: undefined, since: "" };

/** Lists, each with the rows that its page of 10 may check. */
const PAGES: Record<string, [ask: () => unknown[], most: number]> = {
	"tokens.list": [() => tokens.list("u", "0500", 10), 10],
	"policy.list": [() => policy.list("r", "m5", 10), 10],
	"machines.tokens": [() => machines.tokens("0000", "0500", 10), 10],
	// Each realm, and what makes the user a member of those of others.
	"realms.list": [() => realms.list("u", undefined, "0500", 10), 20],
	"realms.deleted": [() => realms.deleted(deleted, "0500", 10), 10],
	"realms.deleted of one": [() => realms.deleted({ ...deleted, user_id: "other" }, "0500", 10), 10],
	// Each invitation, its role and the realm.
	"invitations.list": [() => invitations.list("u", MADE_AT, "0500", 10), 30],
	"invitations.list of all": [() => invitations.list("", MADE_AT, "0500", 10), 30],
	// A hundred of each kind: machines and their realms, tokens and trusts with both.
	"revocations.made, machines": [() => revocations.made("u", BEFORE, MADE_AT).machines.slice(0, 10), 900],
};

for (const [name, [ask, most]] of Object.entries(PAGES)) {
	test(`${name} verifies the rows of its page alone`, () => {
		checked = 0;
		assert.equal(ask().length, 10);
		assert.ok(checked <= most, `${checked} rows`);
	});
}

const COUNTS: Record<string, [ask: () => unknown, count: number]> = {
	"tokens.count": [() => tokens.count("u"), ROWS],
	"policy.count": [() => policy.count("r"), ROWS],
	"machines.countTokens": [() => machines.countTokens("0000"), ROWS],
	"machines.count": [() => machines.count("0001"), 1],
	"trusts.count": [() => trustReads(reader).count("0000"), ROWS],
	"realms.count": [() => realms.count("u", undefined), ROWS * 0.9],
	"realms.count of one": [() => realms.count("u", "0001"), 1],
	"realms.countDeleted": [() => realms.countDeleted(deleted), ROWS * 0.1],
	"invitations.count": [() => invitations.count("u", MADE_AT), ROWS],
	"invitations.count of all": [() => invitations.count("", MADE_AT), ROWS],
	"secrets.count": [() => secretCounts(db).count("r", "dev"), ROWS],
	"secrets.count, up to a number": [() => secretCounts(db).few("r", undefined, ROWS), ROWS],
	"accounts.holdings": [() => accountReads(reader, db).holdings("u", MADE_AT).tokens, ROWS],
};

for (const [name, [ask, count]] of Object.entries(COUNTS)) {
	test(`${name} verifies no row`, () => {
		checked = 0;
		assert.equal(ask(), count);
		assert.equal(checked, 0);
	});
}

const secrets = secretListReads(db);
const pages = secretPages(db);
const REFS = Array.from({ length: 10 }, (_, index) => ({ secret_id: index + 1, version: 1, bytes: 9 }));
const REPEATED: Record<string, () => unknown[]> = {
	"secrets.list": () => secrets.list("r", "dev", "0", 10) as unknown[],
	"secrets.list of the reading thread": () => pages.list("r", undefined, "0", 10) as unknown[],
	"secrets.versionsAt": () => secrets.versionsAt(REFS) as unknown[],
};

for (const [name, ask] of Object.entries(REPEATED)) {
	test(`${name} does not check a row again that has not changed`, () => {
		checked = 0;
		assert.deepEqual([ask().length, checked >= 10], [10, true]);
		checked = 0;
		assert.deepEqual([ask().length, checked], [10, 0]);
	});
}

test("the roles of all invitations of a page are one question", () => {
	ran.length = 0;
	const page = invitations.list("u", MADE_AT, "", 100);
	assert.deepEqual(new Set(page.map(({ bindings }) => bindings.length)), new Set([1]));
	assert.equal(ran.length, 2);
});

test("an altered role hides no realm behind it in a list, and no page is shorter for it", () => {
	const forged = new Set(["0101", "0103", "0105"]);
	const guarded = new Database(db.name, { readonly: true });
	const isForged = (text: string) => [...forged].some((id) => text.includes(`"${id}"`) && text.includes('"binding"'));
	guardReads(guarded, { fits: (_, text) => !isForged(text), usual: () => null, names: "" });
	const seen = realmReads(drizzle({ client: guarded })).list("u", undefined, "0099", 5);
	guarded.close();
	assert.deepEqual(
		seen.map(({ id }) => id),
		["0100", "0102", "0104", "0106", "0107"],
	);
});
