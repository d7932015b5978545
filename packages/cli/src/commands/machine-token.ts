import type { Command } from "commander";
import { emailOf, optional, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { REALM_OPTION, type RealmOptions, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";
import { findToken, typedToken } from "./token.ts";

interface CreateOptions extends RealmOptions {
	readonly ttl: string;
	readonly name?: string;
}

/** Adds the commands of machines' tokens. */
export function addMachineTokenCommands(machine: Command, io: Io): void {
	const token = addGroup(machine, "token", "tokens of a machine account");
	addCommand<CreateOptions>(token, io, {
		usage: "create <machine>",
		summary: "create a token of a machine and print it once",
		details: "It does what the machine may at that time, also after the machine is changed.",
		options: [
			REALM_OPTION,
			option("--ttl <duration>", "how long it is valid, such as 12h or 90d, which is the most").makeOptionMandatory(),
			option("--name <name>", "its name in lists"),
		],
		examples: [
			"svc machine token create deploy --realm shop --ttl 90d",
			"SVC_TOKEN=$(svc machine token create deploy --realm shop --ttl 1h --name release-42)",
		],
		run: createToken,
	});
	addCommand<RealmOptions>(token, io, {
		usage: "list <machine>",
		summary: "list a machine's tokens, without their values",
		options: [REALM_OPTION],
		examples: ["svc machine token list deploy --realm shop"],
		isList: true,
		run: listTokens,
	});
	addCommand<RealmOptions>(token, io, {
		usage: "revoke <machine> <token>",
		summary: "revoke a machine's token, by its name, prefix or id, effective immediately",
		details:
			"You can name a leaked token by its value: give `-`, and svc asks for it without showing it, or reads it from standard input.",
		options: [REALM_OPTION],
		examples: [
			"svc machine token revoke deploy release-42 --realm shop",
			"svc machine token revoke deploy svc_1a2b3c4d --realm shop",
			"svc machine token revoke deploy - --realm shop < leaked",
		],
		run: revokeToken,
	});
}

async function createToken(context: Context<CreateOptions>, machine: string): Promise<void> {
	const { ttl, name } = context.options;
	const realm = realmOf(context);
	const answer = await send(await connect(context), {
		method: "POST",
		path: path`realms/${realm}/machines/${machine}/tokens`,
		body: { ttl, ...(name === undefined ? {} : { name }) },
	});
	await show(context, answer, visible(text(answer, "token")));
	const end = `ends at ${text(answer, "expires_at")}`;
	await note(
		context,
		visible(`token of ${realm}/${machine} has the id ${text(answer, "id")}, ${end} and is not shown again`),
	);
}

async function listTokens(context: Context<RealmOptions>, machine: string): Promise<void> {
	const realm = realmOf(context);
	const at = path`realms/${realm}/machines/${machine}/tokens`;
	const tokens = await readAll(context, await connect(context), at, "tokens");
	const lines = tokens.map((token) => [
		text(token, "id"),
		text(token, "prefix"),
		text(token, "name"),
		emailOf(token, "created_by") || "a trust",
		text(token, "created_at"),
		text(token, "expires_at"),
		optional(token, "last_used_at"),
	]);
	const dates = [instants("CREATED"), instants("EXPIRES"), instants("LAST USED")];
	const titles = [ids("ID"), "PREFIX", "NAME", ids("MADE BY"), ...dates];
	await showTable(context, { tokens }, titles, lines, "no tokens yet: `svc machine token create` makes one");
}

async function revokeToken(context: Context<RealmOptions>, machine: string, typed: string): Promise<void> {
	const realm = realmOf(context);
	const client = await connect(context);
	const tokens = path`realms/${realm}/machines/${machine}/tokens`;
	const hint = "`svc machine token list` shows those of the machine";
	const among = { tokens, whose: "of the machine's", hint };
	const id = await findToken(context, client, await typedToken(context, typed), among);
	const answer = await send(client, { method: "DELETE", path: `${tokens}/${encodeURIComponent(id)}` });
	await show(context, answer, visible(text(answer, "message")));
}
