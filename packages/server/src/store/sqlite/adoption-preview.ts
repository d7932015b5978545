import type { Database } from "better-sqlite3";
import type { AdoptionPreview } from "../../backups/model.ts";

/** Characters of a text that are read: another program may have written any number. */
const MOST = 200;

const text = (column: string) => `substr(${column}, 1, ${MOST})`;

/** Selects the e-mail address of the account that a row names, else the id that it names. */
const email = (id: string) => `coalesce((SELECT ${text("email")} FROM account WHERE account.id = ${id}), ${text(id)})`;

/** Selects the slug of the realm that a row names, said to be deleted where it is, else the id that it names. */
const slug = (id: string) =>
	`coalesce((SELECT ${text("slug")} || iif(deleted_at IS NULL, '', ' (deleted)') FROM realm AS its WHERE its.id = ${id}), ${text(id)})`;

/** Selects the machine that a row names as `realm/name`, else the id that it names. */
const machine = (id: string) =>
	`coalesce((SELECT ${slug("realm_id")} || '/' || ${text("name")} FROM machine AS its WHERE its.id = ${id}), ${text(id)})`;

type Ask = <Row>(columns: string, from: string) => Row[];

/** Reads the rows that grant something, as an adoption would trust them, with the names by which people know them. */
export function adoptionPreview(db: Database): AdoptionPreview {
	const all: Ask = (columns, from) => db.prepare(`SELECT ${columns} FROM ${from}`).all() as never[];
	const [accounts] = all<AdoptionPreview["accounts"]>("count(*) AS total, count(disabled_at) AS disabled", "account");
	return {
		accounts: accounts ?? { total: 0, disabled: 0 },
		admins: all(
			`${text("email")} AS email, ${text("name")} AS name`,
			"account WHERE instance_admin = 1 ORDER BY email",
		),
		realms: all(`${slug("realm.id")} AS realm, ${email("user_id")} AS owner`, "realm ORDER BY slug"),
		bindings: all(
			`${email("user_id")} AS email, ${text("role")} AS role, ${slug("realm_id")} AS realm`,
			"binding ORDER BY 3, 1",
		),
		tokens: all(
			`${text("name")} AS name, ${email("user_id")} AS owner, ${text("scopes")} AS scopes, ${slug("realm_id")} AS realm, ` +
				`${text("environment")} AS environment, ${text("engines")} AS engines, ${text("expires_at")} AS expires_at`,
			"api_token ORDER BY 2, 1",
		),
		configs: all(
			`${text("engine")} AS engine, iif(realm_id = '', '', ${slug("realm_id")}) AS realm`,
			"engine_config WHERE state = 'active' ORDER BY 1, 2",
		),
		providers: all(`${text("name")} AS name, ${text("type")} AS type`, "sso_provider ORDER BY 1"),
		identities: all(
			`${text("provider")} AS provider, ${text("subject")} AS subject, ${email("user_id")} AS email`,
			"sso_identity ORDER BY 3, 1, 2",
		),
		...previewMachines(all),
	};
}

/** Reads the rows that let machines in, and people who have no account yet. */
function previewMachines(all: Ask): Pick<AdoptionPreview, "machines" | "machine_tokens" | "trusts" | "invitations"> {
	const maker = `${email("created_by")} AS created_by`;
	return {
		machines: all(
			`${machine("machine.id")} AS machine, ${text("role")} AS role, ${text("scopes")} AS scopes, ` +
				`${text("environment")} AS environment, ${text("engines")} AS engines, ${maker}`,
			"machine ORDER BY 1",
		),
		machine_tokens: all(
			`${text("name")} AS name, ${text("prefix")} AS prefix, ${machine("machine_id")} AS machine, ${maker}, ` +
				`${text("expires_at")} AS expires_at`,
			"machine_token WHERE trust_id IS NULL ORDER BY 3, 1",
		),
		trusts: all(
			`${text("name")} AS name, ${machine("machine_id")} AS machine, ` +
				`${text("coalesce(issuer, trust_domain)")} AS issuer, ${text("claims")} AS claims, ${maker}`,
			"trust ORDER BY 2, 1",
		),
		invitations: all(
			`${text("email")} AS email, ${maker}, ${text("expires_at")} AS expires_at, ` +
				"(SELECT count(*) FROM invitation_binding WHERE invitation_id = invitation.id) AS roles",
			"invitation ORDER BY 1",
		),
	};
}
