import type { Command } from "commander";
import { count, emailOf, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { confirmUnless } from "../io/prompt.ts";
import { ids, instants } from "../io/table.ts";

interface DeleteOptions extends EnvironmentOptions {
	readonly purge?: boolean;
	readonly yes?: boolean;
}

interface RestoreOptions extends EnvironmentOptions {
	readonly id?: string;
}

/** Adds the commands that delete a secret, and bring it back. */
export function addDeleteCommands(secret: Command, io: Io): void {
	addCommand<DeleteOptions>(secret, io, {
		usage: "delete <key>",
		summary: "delete a secret and its history; you can restore it for 30 days",
		details:
			"With --purge, svc asks first: afterwards, nobody can restore that secret, or anything deleted under its key before.",
		options: [
			...ENVIRONMENT_OPTIONS,
			option("--purge", "delete it permanently, with everything deleted under its key"),
			option("--yes", "do not ask"),
		],
		examples: [
			"svc secret delete OLD_KEY --realm shop --env prod",
			"svc secret delete OLD_KEY --realm shop --env prod --purge",
		],
		run: deleteSecret,
	});
	addCommand<RestoreOptions>(secret, io, {
		usage: "restore <key>",
		summary: "bring a deleted secret back with its history",
		details: "The newest deletion of the key, unless you name one. The history is numbered from the next version on.",
		options: [...ENVIRONMENT_OPTIONS, option("--id <id>", "the deletion (see `svc secret list --deleted`)")],
		examples: ["svc secret restore OLD_KEY --realm shop --env prod"],
		run: restoreSecret,
	});
}

/** Lists the secrets that can be restored. */
export async function listDeleted(
	context: Context<EnvironmentOptions & { readonly allEnvironments?: boolean }>,
): Promise<void> {
	const realm = realmOf(context);
	const env = context.options.allEnvironments === true ? {} : { env: environmentOf(context) };
	const client = await connect(context);
	const query = { ...env, deleted: "true" };
	const secrets = await readAll(context, client, path`realms/${realm}/secrets`, "secrets", query);
	const lines = secrets.map((secret) => [
		text(secret, "key"),
		text(secret, "environment"),
		String(count(secret, "version")),
		text(secret, "deleted_at"),
		emailOf(secret, "deleted_by"),
		text(secret, "purge_at"),
		text(secret, "id"),
	]);
	const titles = ["KEY", "ENV", "VERSION", instants("DELETED"), ids("BY"), instants("PURGED"), "ID"];
	await showTable(context, { secrets }, titles, lines, "no deleted secrets here");
}

async function deleteSecret(context: Context<DeleteOptions>, key: string): Promise<void> {
	const [realm, env] = [realmOf(context), environmentOf(context)];
	const client = await connect(context);
	const isPurge = context.options.purge === true;
	if (isPurge) {
		const words = { doing: "deleting a secret permanently", done: "deleted" };
		await confirmUnless(context, `Permanently delete ${visible(`${key} from ${realm}/${env}`)}?`, words);
	}
	const query = { env, ...(isPurge ? { purge: "true" } : {}) };
	const answer = await send(client, { method: "DELETE", path: path`realms/${realm}/secrets/${key}`, query });
	const done = visible(`${key} deleted from ${realm}/${env}`);
	const hint = visible(`svc secret restore ${key} --realm ${realm} --env ${env}`);
	await show(context, answer, isPurge ? `${done} permanently` : `${done}; \`${hint}\` brings it back for 30 days`);
}

async function restoreSecret(context: Context<RestoreOptions>, key: string): Promise<void> {
	const [realm, env] = [realmOf(context), environmentOf(context)];
	const { id } = context.options;
	const answer = await send(await connect(context), {
		method: "POST",
		path: path`realms/${realm}/secrets/${key}/restore`,
		query: { env },
		body: id === undefined ? {} : { id },
	});
	await show(context, answer, `${visible(`${key} restored in ${realm}/${env}`)}, version ${count(answer, "version")}`);
}
