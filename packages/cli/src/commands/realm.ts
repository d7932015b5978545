import type { Command } from "commander";
import { optional, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { show, showFields, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";
import { addChangeCommands } from "./realm-changes.ts";
import { addDeletionCommands, listDeletedRealms } from "./realm-deletion.ts";

interface CreateOptions {
	readonly name?: string;
	readonly description?: string;
}

interface ListOptions {
	readonly deleted?: boolean;
}

/** Adds the commands of realms. */
export function addRealmCommands(program: Command, io: Io): void {
	const realm = addGroup(program, "realm", "realms, which hold secrets");
	addCommand<CreateOptions>(realm, io, {
		usage: "create <slug>",
		summary: "create a realm that you own",
		options: [
			option("--name <name>", "display name; the slug by default"),
			option("--description <text>", "what it is for"),
		],
		examples: ["svc realm create shop", 'svc realm create shop --name "The shop"'],
		run: createRealm,
	});
	addCommand<ListOptions>(realm, io, {
		usage: "list",
		summary: "list the realms that you can use",
		options: [option("--deleted", "list your deleted realms that can be restored; the instance admin sees all")],
		examples: ["svc realm list", "svc realm list --json", "svc realm list --deleted"],
		isList: true,
		run: listRealms,
	});
	addCommand(realm, io, {
		usage: "show <slug>",
		summary: "show one realm",
		examples: ["svc realm show shop"],
		run: showRealm,
	});
	addChangeCommands(realm, io);
	addDeletionCommands(realm, io);
}

async function createRealm(context: Context<CreateOptions>, slug: string): Promise<void> {
	const { name = slug, description } = context.options;
	const body = { slug, name, ...(description === undefined ? {} : { description }) };
	const answer = await send(await connect(context), { method: "POST", path: "realms", body });
	await show(context, answer, `realm ${visible(text(answer, "slug"))} created`);
}

async function listRealms(context: Context<ListOptions>): Promise<void> {
	if (context.options.deleted === true) return listDeletedRealms(context);
	const realms = await readAll(context, await connect(context), "realms", "realms", { names: "true" });
	const lines = realms.map((realm) => [
		text(realm, "slug"),
		text(realm, "name"),
		optional(realm, "owner_email") || optional(realm, "user_id"),
		text(realm, "created_at"),
	]);
	await showTable(
		context,
		{ realms },
		["SLUG", "NAME", ids("OWNER"), instants("CREATED")],
		lines,
		"no realms yet: `svc realm create` makes one",
	);
}

async function showRealm(context: Context, slug: string): Promise<void> {
	const call = { method: "GET", path: path`realms/${slug}`, query: { names: "true" } } as const;
	const realm = await send(await connect(context), call);
	await showFields(context, realm, [
		["slug", text(realm, "slug")],
		["name", text(realm, "name")],
		["description", optional(realm, "description")],
		["id", text(realm, "id")],
		["owner", optional(realm, "owner_email") || text(realm, "user_id")],
		["created", text(realm, "created_at"), "instant"],
	]);
}
