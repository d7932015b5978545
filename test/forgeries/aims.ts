import { FORGED_TOKEN } from "./probes.ts";
import { type Forgery, KEPT } from "./trial.ts";

const id = (name: string) => `(SELECT id FROM main.account WHERE email LIKE '${name}-%')`;
const MALLORY = id("mallory");
const MALLORYS_REALM = `(SELECT id FROM main.realm WHERE user_id = ${MALLORY})`;
const MALLORYS_SECRET = `(SELECT id FROM main.secret WHERE realm_id = ${MALLORYS_REALM})`;
const DIGEST = `x'${FORGED_TOKEN.digest.toString("hex")}'`;

const bySql = (name: string, ...sql: string[]): Forgery => ({
	name: `aim: ${name}`,
	apply: (database) => database.exec(sql.join("; ")),
});

/** Forgeries with an aim: what somebody would change who knows the schema and wants access, secrets, or a credential that lives on. */
export const WITH_AN_AIM: readonly Forgery[] = [
	bySql("to administer the instance", `UPDATE main.account SET instance_admin = 1 WHERE id = ${MALLORY}`),
	bySql(
		"to know an administrator's password",
		`UPDATE main.account SET password = (SELECT password FROM main.account WHERE id = ${MALLORY}) WHERE email LIKE 'root-%'`,
	),
	bySql("to be somebody else", `UPDATE main.session SET user_id = ${id("root")} WHERE user_id = ${MALLORY}`),
	bySql(
		"a token of one's own making",
		`INSERT INTO main.api_token (id, user_id, name, prefix, digest, scopes, created_at, mac)
			SELECT 'forged', ${id("root")}, '', '', ${DIGEST}, 'read,write,delete', created_at, mac FROM main.api_token LIMIT 1`,
	),
	bySql("to know a token that stands", `UPDATE main.api_token SET digest = ${DIGEST} WHERE environment = 'dev'`),
	bySql("a token without its limits", "UPDATE main.api_token SET environment = NULL, realm_id = NULL, engines = NULL"),
	bySql(
		"a role",
		`INSERT INTO main.binding SELECT 'forged', realm_id, ${MALLORY}, 'admin', granted_by, created_at, mac FROM main.binding LIMIT 1`,
	),
	bySql("a higher role", "UPDATE main.binding SET role = 'admin'"),
	bySql("to sign in without a second factor", "DELETE FROM main.factor"),
	bySql("another's passkeys", `UPDATE main.factor SET user_id = ${id("root")} WHERE type = 'passkey'`),
	bySql("a passkey of whose copy nobody learns", "UPDATE main.factor SET last_step = 0 WHERE type = 'passkey'"),
	bySql(
		"a passkey under another one's name",
		"UPDATE main.factor SET (name, rp_id) = (SELECT name, rp_id FROM main.factor AS other WHERE other.type = 'passkey' AND other.id <> factor.id) WHERE type = 'passkey'",
	),
	bySql("an invitation with higher roles", "UPDATE main.invitation_binding SET role = 'admin'"),
	bySql("an invitation by somebody else", `UPDATE main.invitation SET created_by = ${id("root")}`),
	bySql(
		"a machine that may do more",
		"UPDATE main.machine SET role = 'admin', scopes = 'read,write,delete', environment = NULL, engines = NULL",
	),
	bySql(
		"to know a machine's token",
		`UPDATE main.machine_token SET digest = ${DIGEST} WHERE id = (SELECT min(id) FROM main.machine_token)`,
	),
	bySql("a trust in everybody", "UPDATE main.trust SET claims = '{}'"),
	bySql("a JWT used once more", "DELETE FROM main.trust_used"),
	bySql("another's realm", `UPDATE main.realm SET user_id = ${MALLORY}`),
	bySql("another's secrets", `UPDATE main.secret SET realm_id = ${MALLORYS_REALM} WHERE environment = 'prod'`),
	bySql(
		"another's values",
		`DELETE FROM main.secret_version WHERE secret_id = ${MALLORYS_SECRET}`,
		`UPDATE main.secret_version SET secret_id = ${MALLORYS_SECRET} WHERE secret_id = (SELECT min(id) FROM main.secret)`,
	),
	bySql("an older value", "UPDATE main.secret SET version = 1 WHERE key = 'SECOND'"),
	bySql("a key less", "DELETE FROM main.secret WHERE key = 'SECOND'"),
	bySql("a credential that lives longer", "UPDATE main.lease SET due_at = 33000000000000"),
	bySql(
		"a credential that nobody revokes",
		"UPDATE main.lease SET state = 'revoked', due_at = NULL, closed_at = created_at, payload = NULL",
	),
	bySql("a pause of revocations", "INSERT INTO main.meta VALUES ('leases_paused', '2030-01-01T00:00:00.000Z', NULL)"),
	bySql("to be the first account", "DELETE FROM main.account"),
	bySql(
		"everything that ended, as it once was",
		...["account", "session", "api_token", "binding", "realm"].map(
			(table) => `DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM ${KEPT}.${table}`,
		),
	),
];
