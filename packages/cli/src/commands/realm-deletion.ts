import type { Command } from "commander";
import { emailOf, optional, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { confirmUnless } from "../io/prompt.ts";
import { ids, instants } from "../io/table.ts";

interface DeleteOptions {
	readonly yes?: boolean;
}

interface RestoreOptions {
	readonly id?: string;
	readonly as?: string;
}

/** Adds the commands that delete a realm, and bring it back. */
export function addDeletionCommands(realm: Command, io: Io): void {
	addCommand<DeleteOptions>(realm, io, {
		usage: "delete <slug>",
		summary: "delete a realm and everything in it; its owner can restore it for 30 days",
		details:
			"Its credentials are revoked and its slug is free immediately. Tokens limited to it, and the tokens and trusts of its machines, end permanently.",
		options: [option("--yes", "do not ask")],
		examples: ["svc realm delete shop", "svc realm delete shop --yes"],
		run: deleteRealm,
	});
	addCommand<RestoreOptions>(realm, io, {
		usage: "restore <slug>",
		summary: "bring a deleted realm back with its bindings and secrets",
		details:
			"The newest deletion of the slug, unless you name one. Its owner and the instance admin can restore it.\n" +
			"Credentials of its engines stay revoked, its engines' configurations removed, tokens limited to it ended, and the tokens and trusts of its machines, too: make those again.\n" +
			"A restored realm keeps the slug that it got with --as. When its old slug is free again, delete the realm and restore it --as the old slug. That ends the same things once more, so do it before you make them again.",
		options: [
			option("--id <id>", "the realm's id (see `svc realm list --deleted`)"),
			option("--as <slug>", "another slug, when its own is taken"),
		],
		examples: [
			"svc realm restore shop",
			"svc realm restore shop --as shop-old",
			"svc realm delete shop-old && svc realm restore shop-old --as shop",
		],
		run: restoreRealm,
	});
}

/** Lists the realms that the caller can restore. */
export async function listDeletedRealms(context: Context): Promise<void> {
	const client = await connect(context);
	const realms = await readAll(context, client, "realms", "realms", { deleted: "true" });
	const lines = realms.map((realm) => [
		text(realm, "slug"),
		text(realm, "name"),
		optional(realm, "owner_email") || text(realm, "user_id"),
		text(realm, "deleted_at"),
		emailOf(realm, "deleted_by"),
		text(realm, "purge_at"),
		text(realm, "id"),
	]);
	const titles = ["SLUG", "NAME", "OWNER", instants("DELETED"), ids("BY"), instants("PURGED"), "ID"];
	await showTable(context, { realms }, titles, lines, "no deleted realms that you can restore");
}

async function deleteRealm(context: Context<DeleteOptions>, slug: string): Promise<void> {
	const client = await connect(context);
	const words = { doing: "deleting a realm", done: "deleted" };
	await confirmUnless(context, `Delete the realm ${visible(slug)} with everything in it?`, words);
	const answer = await send(client, { method: "DELETE", path: path`realms/${slug}` });
	const hint = `\`svc realm restore ${visible(slug)}\` brings it back for 30 days`;
	await show(context, answer, `realm ${visible(slug)} deleted; ${hint}`);
}

async function restoreRealm(context: Context<RestoreOptions>, slug: string): Promise<void> {
	const { id, as } = context.options;
	const answer = await send(await connect(context), {
		method: "POST",
		path: path`realms/${slug}/restore`,
		body: { ...(id === undefined ? {} : { id }), ...(as === undefined ? {} : { slug: as }) },
	});
	await show(context, answer, `realm ${visible(text(answer, "slug"))} restored`);
}
