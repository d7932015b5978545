import type { Command } from "commander";
import { text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findUserId } from "../client/find-user.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";

const NAMING =
	"A user is named by id, which `svc whoami` shows to each user. The instance admin can give the e-mail instead.";

/** Adds the commands of bindings. */
export function addBindingCommands(program: Command, io: Io): void {
	const binding = addGroup(program, "binding", "who has which role in a realm");
	addCommand<RealmOptions>(binding, io, {
		usage: "add <user> <role>",
		summary: "give a user a role: admin, member or viewer",
		details: NAMING,
		options: [REALM_OPTION],
		examples: [
			"svc binding add bob@example.com viewer --realm shop",
			"svc binding add 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d viewer --realm shop",
		],
		run: addBinding,
	});
	addCommand<RealmOptions>(binding, io, {
		usage: "list",
		summary: "list the roles in a realm; its owner is always admin and not listed",
		options: [REALM_OPTION],
		examples: ["svc binding list --realm shop"],
		isList: true,
		run: listBindings,
	});
	addCommand<RealmOptions>(binding, io, {
		usage: "remove <user>",
		summary: "remove a user's role",
		details: NAMING,
		options: [REALM_OPTION],
		examples: ["svc binding remove bob@example.com --realm shop"],
		run: removeBinding,
	});
}

async function addBinding(context: Context<RealmOptions>, user: string, role: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const user_id = await findUserId(client, user);
	const answer = await send(client, {
		method: "POST",
		path: path`realms/${realm}/policy/bindings`,
		body: { user_id, role },
	});
	await show(context, answer, visible(`${user} is ${text(answer, "role")} of ${realm}`));
}

async function listBindings(context: Context<RealmOptions>): Promise<void> {
	const realm = realmOf(context);
	const bindings = await Array.fromAsync(
		listAll(await connect(context), path`realms/${realm}/policy/bindings`, "bindings"),
	);
	const lines = bindings.map((binding) => [
		text(binding, "user_id"),
		text(binding, "role"),
		text(binding, "granted_by"),
		text(binding, "created_at"),
	]);
	const titles = [ids("USER"), "ROLE", ids("GRANTED BY"), instants("CREATED")];
	await showTable(context, { bindings }, titles, lines, "nobody but the owner: `svc binding add` gives a role");
}

async function removeBinding(context: Context<RealmOptions>, user: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const user_id = await findUserId(client, user);
	const answer = await send(client, { method: "DELETE", path: path`realms/${realm}/policy/bindings/${user_id}` });
	await show(context, answer, visible(text(answer, "message")));
}
