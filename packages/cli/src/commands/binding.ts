import type { Command } from "commander";
import { type Answer, emailOf, optional, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";

const NAMING = "A user is named by e-mail, or by the id that `svc whoami` shows.";

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
		usage: "set <user> <role>",
		summary: "change a user's role, effective immediately",
		details: NAMING,
		options: [REALM_OPTION],
		examples: ["svc binding set bob@example.com member --realm shop"],
		run: setBinding,
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
	const who = user.includes("@") ? { email: user } : { user_id: user };
	const answer = await send(await connect(context), {
		method: "POST",
		path: path`realms/${realm}/policy/bindings`,
		body: { ...who, role },
	});
	await show(context, answer, visible(`${user} is ${text(answer, "role")} of ${realm}`));
}

async function setBinding(context: Context<RealmOptions>, user: string, role: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const user_id = await findBound(context, client, realm, user);
	const call = { method: "PUT", path: path`realms/${realm}/policy/bindings/${user_id}`, body: { role } } as const;
	const answer = await send(client, call);
	await show(context, answer, visible(`${user} is ${text(answer, "role")} of ${realm}`));
}

function listNamed(context: Context, client: Client, realm: string): Promise<Answer[]> {
	return readAll(context, client, path`realms/${realm}/policy/bindings`, "bindings", { names: "true" });
}

/** The id of a user who has a role in the realm, by e-mail or id. @throws Failure notFound for an e-mail that has none there */
async function findBound(context: Context, client: Client, realm: string, user: string): Promise<string> {
	if (!user.includes("@")) return user;
	const bindings = await listNamed(context, client, realm);
	const email = user.toLowerCase();
	const found = bindings.find((binding) => optional(binding, "email").toLowerCase() === email);
	if (found !== undefined) return text(found, "user_id");
	const known = bindings.map((binding) => optional(binding, "email"));
	throw notFound({ noun: "binding", typed: [user], within: realm, known, hint: "`svc binding list` shows them" });
}

async function listBindings(context: Context<RealmOptions>): Promise<void> {
	const realm = realmOf(context);
	const bindings = await listNamed(context, await connect(context), realm);
	const lines = bindings.map((binding) => [
		optional(binding, "email"),
		text(binding, "user_id"),
		text(binding, "role"),
		emailOf(binding, "granted_by"),
		text(binding, "created_at"),
	]);
	const titles = ["USER", ids("ID"), "ROLE", ids("GRANTED BY"), instants("CREATED")];
	await showTable(context, { bindings }, titles, lines, "nobody but the owner: `svc binding add` gives a role");
}

async function removeBinding(context: Context<RealmOptions>, user: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const user_id = await findBound(context, client, realm, user);
	const answer = await send(client, { method: "DELETE", path: path`realms/${realm}/policy/bindings/${user_id}` });
	await show(context, answer, visible(text(answer, "message")));
}
