import type { Command } from "commander";
import { type Answer, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { show, visible } from "../io/output.ts";
import { confirmUnless } from "../io/prompt.ts";

interface EditOptions {
	readonly name?: string;
	readonly description?: string;
}

interface LeaveOptions {
	readonly yes?: boolean;
}

interface TransferOptions {
	readonly to: string;
	readonly yes?: boolean;
}

/** Adds the commands that change and transfer a realm. */
export function addChangeCommands(realm: Command, io: Io): void {
	addCommand<EditOptions>(realm, io, {
		usage: "edit <slug>",
		summary: "change the name or the description of a realm that you own",
		options: [
			option("--name <name>", "display name"),
			option("--description <text>", "what it is for; an empty one removes it"),
		],
		examples: ['svc realm edit shop --name "The shop" --description "what the shop needs"'],
		run: editRealm,
	});
	addCommand<TransferOptions>(realm, io, {
		usage: "transfer <slug>",
		summary: "give a realm that you own to another of its admins",
		details:
			"You stay as an admin until somebody removes that role. The realm counts toward the new owner's limits.realms_per_account, of which realms that others gave them fill at most half.\n" +
			"The instance admin does the same for an owner whose account is disabled, and who keeps no role in the realm.",
		options: [
			option("--to <user>", "the new owner's e-mail or id").makeOptionMandatory(),
			option("--yes", "do not ask"),
		],
		examples: ["svc realm transfer shop --to ada@example.com", "svc realm transfer shop --to ada@example.com --yes"],
		run: transferRealm,
	});
	addCommand<LeaveOptions>(realm, io, {
		usage: "leave <slug>",
		summary: "give up your own role in a realm",
		details:
			"Its owner cannot leave it, but transfer or delete it. Roles that single sign-on gives to groups come back at the next login.",
		options: [option("--yes", "do not ask")],
		examples: ["svc realm leave shop", "svc realm leave shop --yes"],
		run: leaveRealm,
	});
}

async function change(context: Context, slug: string, body: object): Promise<Answer> {
	return send(await connect(context), { method: "PUT", path: path`realms/${slug}`, body });
}

async function editRealm(context: Context<EditOptions>, slug: string): Promise<void> {
	const { name, description } = context.options;
	const body = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
	const answer = await change(context, slug, body);
	await show(context, answer, `realm ${visible(text(answer, "slug"))} changed`);
}

async function transferRealm(context: Context<TransferOptions>, slug: string): Promise<void> {
	const { to } = context.options;
	const words = { doing: "giving a realm away", done: "changed" };
	await confirmUnless(context, visible(`Give the realm ${slug} to ${to}? Only the new owner can give it back.`), words);
	const answer = await change(context, slug, { owner: to });
	await show(context, answer, visible(`${to} owns the realm ${text(answer, "slug")}`));
}

async function leaveRealm(context: Context<LeaveOptions>, slug: string): Promise<void> {
	const words = { doing: "leaving a realm", done: "changed" };
	await confirmUnless(context, visible(`Leave the realm ${slug}? Only its admins can let you in again.`), words);
	const answer = await send(await connect(context), { method: "POST", path: path`realms/${slug}/leave` });
	await show(context, answer, visible(`you left the realm ${slug}`));
}
