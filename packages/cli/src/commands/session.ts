import type { Command } from "commander";
import { optional, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";

/** Adds the commands of your own sessions. */
export function addSessionCommands(program: Command, io: Io): void {
	const session = addGroup(program, "session", "where you are logged in");
	addCommand(session, io, {
		usage: "list",
		summary: "list your open sessions, on the command line and in browsers",
		examples: ["svc session list", "svc session list --json"],
		isList: true,
		run: listSessions,
	});
	addCommand(session, io, {
		usage: "end <id>",
		summary: "end one of your sessions, effective immediately",
		details:
			"`svc session list` shows the ids. Your API tokens keep working: `svc token list` shows them. If somebody else knows your password, `svc password` ends all other sessions and keeps that person out.",
		examples: ["svc session end 0198c0de-0000-7000-8000-000000000001"],
		run: endSession,
	});
}

async function listSessions(context: Context): Promise<void> {
	const sessions = await readAll(context, await connect(context), "auth/sessions", "sessions");
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

async function endSession(context: Context, id: string): Promise<void> {
	const answer = await send(await connect(context), { method: "DELETE", path: path`auth/sessions/${id}` });
	await show(context, answer, visible(text(answer, "message")));
}
