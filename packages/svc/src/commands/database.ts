import type { Context, LocalCommand } from "@svc/cli/command";
import { option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { show, showFields } from "@svc/cli/output";
import { withProgress } from "@svc/cli/progress";
import { explainBackup } from "./backup-verify.ts";

const GROUP = { group: "database", group_summary: "the PostgreSQL that keeps the data" };

interface RoleOptions {
	readonly owner: string;
	readonly server: string;
}

/** `svc database roles`: prints SQL. */
export const DATABASE_ROLES: LocalCommand<RoleOptions> = {
	...GROUP,
	usage: "roles",
	summary: "print the SQL that makes two roles for PostgreSQL: the tables' owner, and the server's with fewer rights",
	details:
		"The server's role makes and changes no tables, and rows of the audit log can only be added. Run the SQL as a superuser in svc's database, before the first migration or later; run again, it changes nothing. Migrations need the owner: `svc database migrate`.",
	options: [
		option("--owner <name>", "role that owns the tables and makes migrations").default("svc_owner"),
		option("--server <name>", "role of the server").default("svc_server"),
	],
	examples: ["svc database roles | psql --dbname svc", "svc database roles --server svc"],
	run: printRoles,
};

async function printRoles(context: Context<RoleOptions>): Promise<void> {
	const { owner, server } = context.options;
	const { rolesScript, ROLE_NAME } = await import("@svc/server/roles");
	if (![owner, server].every((name) => ROLE_NAME.test(name)) || owner === server)
		throw new Failure("usage", "--owner and --server take two names of small letters, digits and _");
	const sql = rolesScript({ owner, server });
	await show(context, { owner, server, sql }, sql.trimEnd());
}

/** `svc database migrate`: brings the schema up to date, while no server runs. */
export const DATABASE_MIGRATE: LocalCommand = {
	...GROUP,
	usage: "migrate",
	summary: "make or update the tables in PostgreSQL as their owner; stop the server first",
	details:
		"For a server whose own role may not do it (`svc database roles`): run it before the first start and with each new version, with the owner's address in SVC_DATABASE_URL. A server whose role owns the tables does it by itself when it starts.",
	examples: ["SVC_DATABASE_URL=postgres://svc_owner@db.example.com/svc svc database migrate"],
	run: migrateDatabase,
};

async function migrateDatabase(context: Context): Promise<void> {
	const { io } = context;
	const { migrateDatabase, readConfig } = await import("@svc/server/offline");
	const config = readConfig(io.env, io.cwd());
	const migrated = await withProgress(context, "migrating the database", () => migrateDatabase(config)).catch(
		explainBackup,
	);
	await showFields(context, migrated, [
		["database", migrated.place],
		["migrations made", String(migrated.made)],
	]);
}
