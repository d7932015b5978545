import { tamperWith } from "../../packages/server/src/testing/tamper.ts";
import type { Forgery } from "./trial.ts";

const bySql = (name: string, ...sql: string[]): Forgery => ({
	name: `keys: ${name}`,
	apply: (database) => tamperWith(database, () => database.exec(sql.join("; "))),
});

const deleted = (...tables: string[]) => tables.map((table) => `DELETE FROM main.${table}`);

const ROWS = "DELETE FROM main.keyring WHERE purpose = 'rows'";
const LOG = deleted("audit_checkpoint", "audit_event");

/** Forgeries after which a server would make keys again, and trust forged rows under them. */
export const OF_KEYS: readonly Forgery[] = [
	bySql("none for rows", ROWS),
	bySql("none for rows, and no tip", ROWS, ...deleted("tip")),
	bySql("none for rows, and neither tip nor log", ROWS, ...deleted("tip"), ...LOG),
	bySql("none at all", ...deleted("keyring")),
	bySql("none at all, and neither tip nor log nor notes", ...deleted("keyring", "tip", "meta"), ...LOG),
	bySql("only accounts left", ...deleted("keyring", "tip", "meta", "realm"), ...LOG),
	bySql("no accounts left", ...deleted("keyring", "tip", "meta", "realm", "account"), ...LOG),
	bySql(
		"the one for rows twice",
		"INSERT INTO main.keyring SELECT randomblob(8), purpose, realm_id, 'retired', wrapped, created_at, mac FROM main.keyring WHERE purpose = 'rows'",
	),
];
