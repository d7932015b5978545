import type { Command } from "commander";
import { optional, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import { listOf, USER_OPTION, type WhoseOptions } from "../input/whose.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";

/** Adds the commands of sessions: your own, or somebody's. */
export function addSessionCommands(program: Command, io: Io): void {
	const session = addGroup(program, "session", "where you are logged in");
	addCommand<WhoseOptions>(session, io, {
		usage: "list",
		summary: "list your open sessions, on the command line and in browsers",
		options: [USER_OPTION],
		examples: ["svc session list", "svc session list --json", "svc session list --user ada@example.com"],
		isList: true,
		run: listSessions,
	});
	addCommand<WhoseOptions>(session, io, {
		usage: "end <id>",
		summary: "end one of your sessions, effective immediately",
		options: [USER_OPTION],
		details:
			"`svc session list` shows the ids. Your API tokens keep working: `svc token list` shows them. If somebody else knows your password, `svc password` ends all other sessions and keeps that person out. `svc revoke` ends everything that somebody else holds.",
		examples: [
			"svc session end 0198c0de-0000-7000-8000-000000000001",
			"svc session end 0198c0de-0000-7000-8000-000000000001 --user ada@example.com",
		],
		run: endSession,
	});
}

async function listSessions(context: Context<WhoseOptions>): Promise<void> {
	const client = await connect(context);
	const sessions = await readAll(context, client, await listOf(client, context.options, "sessions"), "sessions");
	const lines = sessions.map((session) => [
		text(session, "id"),
		optional(session, "provider") || "password",
		text(session, "created_at"),
		text(session, "expires_at"),
		optional(session, "last_used_at"),
		optional(session, "last_ip"),
		session.current === true ? "this one" : "",
	]);
	const titles = [ids("ID"), "BY", instants("BEGAN"), instants("ENDS"), instants("LAST USED"), "FROM", "CURRENT"];
	await showTable(context, { sessions }, titles, lines, "no sessions");
}

async function endSession(context: Context<WhoseOptions>, id: string): Promise<void> {
	const client = await connect(context);
	const sessions = await listOf(client, context.options, "sessions");
	const answer = await send(client, { method: "DELETE", path: `${sessions}/${path`${id}`}` });
	await show(context, answer, visible(text(answer, "message")));
}
