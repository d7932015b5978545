import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { MADE_AT } from "../../testing/rows.ts";
import { makeFolder, trustAllRows } from "../../testing/store.ts";
import { ROW_KINDS } from "../row-kinds.ts";
import { DECLARATIONS } from "../store.ts";
import { auditDays } from "./audit-days.ts";
import { auditLog } from "./audit-log.ts";
import { currentVersions } from "./current-versions.ts";
import { drizzle } from "./drizzle.ts";
import { keyCounts } from "./key-counts.ts";
import { keySetOfSecrets } from "./key-sets.ts";
import { leaseLists } from "./lease-lists.ts";
import { madeByUser } from "./made-by-user.ts";
import { migrate } from "./migrate.ts";
import { passkeyHosts } from "./passkey-hosts.ts";
import { accountReads } from "./reads/accounts.ts";
import { commonReads } from "./reads/common.ts";
import { engineReads } from "./reads/engines.ts";
import { factorReads } from "./reads/factors.ts";
import { invitationReads } from "./reads/invitations.ts";
import { keyReads } from "./reads/keys.ts";
import { leaseReads } from "./reads/leases.ts";
import { machineReads } from "./reads/machines.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { resetReads } from "./reads/resets.ts";
import { restoreReads } from "./reads/restores.ts";
import { secretReads } from "./reads/secrets.ts";
import { ssoReads } from "./reads/sso.ts";
import { tokenReads } from "./reads/tokens.ts";
import { trustReads } from "./reads/trusts.ts";
import { realmLists } from "./realm-lists.ts";
import { secretCounts } from "./secret-counts.ts";
import { secretLifecycle } from "./secret-lifecycle.ts";
import { limitTime } from "./time-limit.ts";
import { tokenLineage } from "./token-lineage.ts";

const ran: string[] = [];
const db = new Database(join(await makeFolder({ after }), "svc.db"), { verbose: (sql) => ran.push(String(sql)) });
after(() => void db.close());
migrate(db, "");
trustAllRows(db);
limitTime(db);
const reader = drizzle({ client: db });

/** Every question of the port, by noun. `audit.head` and `health.alterations` ask no table. */
const QUESTIONS: Record<string, object> = {
	accounts: accountReads(reader, db),
	audit: { ...auditLog(db), ...auditDays(db) },
	backups: restoreReads(db),
	common: commonReads(db),
	engines: engineReads(reader),
	factors: { ...factorReads(reader), ...passkeyHosts(db) },
	invitations: invitationReads(reader),
	keys: { ...keyReads(reader), ...keyCounts(db) },
	leases: { ...leaseReads(reader), ...leaseLists(db) },
	machines: machineReads(reader),
	policy: policyReads(reader),
	realms: { ...realmReads(reader), ...realmLists(db) },
	resets: resetReads(reader),
	revocations: madeByUser(db),
	secrets: {
		...{ ...secretReads(reader, db), ...currentVersions(db), ...secretLifecycle(db) },
		...{ keySet: keySetOfSecrets(db), count: secretCounts(db).count },
	},
	sso: ssoReads(reader),
	tokens: { ...tokenReads(reader), ...tokenLineage(db) },
	trusts: trustReads(reader),
};
const ASK_NO_TABLE = ["audit.head", "backups.era", "health.alterations"];

const QUERY = { scopes: [{ member_id: "a" }, { realm_ids: ["r"] }] };
const RANGE = { starts: [MADE_AT], end: MADE_AT };
const LEASES = { realm_id: "r", engine: "", state: "" };

/** Arguments of the questions that others than texts are asked with. */
const ARGUMENTS: Record<string, unknown[]> = {
	"accounts.holdings": ["a", MADE_AT],
	"accounts.isKnownSource": [[Buffer.alloc(32)], MADE_AT],
	"accounts.list": ["", 1],
	"accounts.sessions": ["a", MADE_AT, "", 1],
	"audit.checkpoints": [0, 1],
	"audit.count": [QUERY],
	"audit.export": [QUERY, { last: "1" }, 1],
	"accounts.startingWith": ["a@", 1],
	"audit.list": [QUERY, undefined, 1],
	"audit.perDay": ["r", RANGE],
	"audit.readsPerDay": [{ member_id: "a", realm_id: "r", realm: "r", key: "k", environment: "dev" }, RANGE, 1],
	"audit.verify": [[]],
	"invitations.byDigest": [Buffer.alloc(32), ""],
	"invitations.list": ["a", "", "", 1],
	"keys.byId": [Buffer.alloc(8)],
	"leases.activeAt": ["t", undefined, 1],
	"leases.byCredential": [{ target: "t", scope: "", name: "n" }],
	"leases.byNames": ["t", "", ["n"]],
	"leases.count": [LEASES],
	"leases.due": ["t", 1, 1],
	"leases.list": [LEASES, "~", 1],
	"leases.openByRealm": [1],
	"machines.list": ["r", "", 1],
	"machines.tokens": ["m", "", 1],
	"policy.list": ["r", "", 1],
	"realms.countDeleted": [{ user_id: "a", since: "" }],
	"realms.deletedBefore": [MADE_AT, 1],
	"realms.deleted": [{ user_id: "a", since: "" }, "", 1],
	"realms.findDeleted": [{ user_id: "a", since: "", slug: "s", id: "r" }],
	"realms.fullest": [{ max: {}, now: "" }],
	"realms.list": ["a", undefined, "", 1],
	"realms.named": [["r"]],
	"secrets.count": ["r", undefined],
	"secrets.countDeleted": ["r", undefined, ""],
	"secrets.countExpiring": ["", 1],
	"secrets.deleted": ["r", undefined, "", "", 1],
	"secrets.history": ["r", "dev", "k", undefined, 1],
	"secrets.keySet": [Float64Array.of(1)],
	"secrets.list": ["r", undefined, "", 1],
	"secrets.version": ["r", "dev", "k", 1],
	"secrets.versionsAt": [[{ secret_id: 1, version: 1, bytes: 1 }]],
	"sso.owner": [{ provider: "p", issuer: "i", subject: "s" }],
	"tokens.list": ["a", "", 1],
	"tokens.listLineage": ["t", "", 1],
	"tokens.owner": [Buffer.alloc(32)],
	"trusts.list": ["m", "", 1],
};

const COUNTS = "counts what is stored, and grants nothing: to check each row would take seconds";
const CHOICE = "chooses the rows of the page, each of which is then looked up in the views";
const OF_LEASES = "an altered lease hides nothing: it is named as altered, due immediately, and keeps its name taken";
const KNOWN = "a row that is not as it was when it was believed is looked up in the views";
const WRAPPED = "the master key wraps each key, and the tip counts what its row says";

/** Questions that read rows as they are, with the tables and the reason. */
const AS_THEY_ARE: Record<string, [tables: string, reason: string]> = {
	"accounts.count": ["account", COUNTS],
	"accounts.holdings": ["api_token realm session", COUNTS],
	"accounts.hadAny": ["account", "an altered account must not make the next one the first"],
	"audit.compare": [
		"account api_token binding engine_config machine machine_token realm sso_identity sso_provider trust",
		"it names them",
	],
	"engines.configById": ["engine_config", "what was made with an altered one must be revoked"],
	"invitations.count": ["invitation", COUNTS],
	"keys.all": ["keyring", WRAPPED],
	"keys.byId": ["keyring", WRAPPED],
	"keys.countOfRealms": ["keyring", COUNTS],
	"keys.fingerprint": ["meta", "it is asked before there are keys"],
	"keys.ofRealm": ["keyring", WRAPPED],
	"keys.shared": ["keyring", WRAPPED],
	"leases.activeAt": ["lease", OF_LEASES],
	"leases.byCredential": ["lease", OF_LEASES],
	"leases.byId": ["lease", OF_LEASES],
	"leases.byNames": ["lease", OF_LEASES],
	"leases.count": ["lease", COUNTS],
	"leases.due": ["lease", OF_LEASES],
	"leases.list": ["lease", OF_LEASES],
	"leases.nextDue": ["lease", OF_LEASES],
	"leases.openByRealm": ["lease", COUNTS],
	"leases.openTargets": ["lease", OF_LEASES],
	"machines.count": ["machine", COUNTS],
	"machines.countTokens": ["machine_token", COUNTS],
	"policy.count": ["binding", COUNTS],
	"realms.count": ["binding machine realm", COUNTS],
	"realms.countDeleted": ["realm", COUNTS],
	"realms.deleted": ["realm", CHOICE],
	"realms.fullest": [
		"account account_limit api_token binding factor invitation invitation_binding machine machine_token realm session sso_identity trust trust_used",
		COUNTS,
	],
	"realms.list": ["binding machine realm", CHOICE],
	"realms.unended": ["api_token machine machine_token realm trust", "what a deleted realm leaves ends, altered or not"],
	"revocations.made": ["invitation machine machine_token realm trust", CHOICE],
	"secrets.count": ["secret", COUNTS],
	"secrets.countDeleted": ["deleted_secret", COUNTS],
	"secrets.countExpiring": ["realm secret secret_version", COUNTS],
	"secrets.list": ["secret secret_version", KNOWN],
	"tokens.count": ["api_token", COUNTS],
	"trusts.count": ["trust", COUNTS],
	"secrets.versionsAt": [
		"secret secret_version",
		`${KNOWN}; a value opens under its own name alone, so an altered name shows none`,
	],
};

/** Tables, of those whose rows authenticate themselves, that a statement names without their view. */
function bareTables(statement: string): string[] {
	const names = statement.replaceAll(/'(?:[^']|'')*'/g, "").matchAll(/\b(?:from|join)\s+"?(?:main\.)?(\w+)/gi);
	return [...names].map(([, name = ""]) => name).filter((name) => name in ROW_KINDS);
}

for (const [name, { kind }] of DECLARATIONS) {
	if ((kind !== "read" && kind !== "scan") || ASK_NO_TABLE.includes(name)) continue;
	const [tables, reason] = AS_THEY_ARE[name] ?? ["", ""];
	const what = tables === "" ? "asks for verified rows alone" : `reads rows as they are: ${reason}`;
	test(`${name} ${what}`, () => {
		const [noun = "", verb = ""] = name.split(".");
		const ask = (QUESTIONS[noun] as Record<string, (...args: unknown[]) => unknown>)[verb] ?? assert.fail("not here");
		ran.length = 0;
		ask(...(ARGUMENTS[name] ?? ["a", "dev", "prod", ""]));
		assert.ok(ran.length > 0);
		assert.deepEqual(new Set(ran.flatMap(bareTables)), new Set(tables === "" ? [] : tables.split(" ")));
	});
}
