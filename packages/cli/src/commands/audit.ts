import type { Command } from "commander";
import { type Answer, count, optional, text } from "../answer.ts";
import { send } from "../client.ts";
import { addCommand, addGroup, type Context, option } from "../command.ts";
import { connect } from "../connection.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { showFields, showTable } from "../output.ts";
import { listAll } from "../pages.ts";

interface ListOptions {
	readonly realm?: string;
	readonly type?: string;
	readonly actor?: string;
	readonly limit?: string;
	readonly all?: boolean;
}

/** Events that are listed when nothing is said. Spec: API › Limits. */
const DEFAULT_LIMIT = 50;

/** Adds the commands of the audit log. */
export function addAuditCommands(program: Command, io: Io): void {
	const audit = addGroup(program, "audit", "the log of what happened (`svc audit` alone lists)");
	addCommand<ListOptions>(audit, io, {
		usage: "list",
		isDefault: true,
		summary: "list events, the newest first",
		options: [
			option("--realm <slug>", "of this realm"),
			option("--type <type>", "of this type, such as secret.set"),
			option("--actor <user>", "of this user, by id or e-mail"),
			option("--limit <number>", `at most so many; ${DEFAULT_LIMIT} by default`),
			option("--all", "every event").conflicts("limit"),
		],
		examples: ["svc audit --realm shop", "svc audit list --type auth.login.failed --limit 500 --json"],
		run: listEvents,
	});
	addCommand(audit, io, {
		usage: "verify",
		summary: "check that no event was altered or removed; ends with 0 only when the log is intact",
		details: "Only for the instance's administrators.",
		examples: ["svc audit verify"],
		run: verifyAudit,
	});
}

async function listEvents(context: Context<ListOptions>): Promise<void> {
	const { realm, type, actor, limit, all } = context.options;
	const query = {
		...(realm === undefined ? {} : { realm }),
		...(type === undefined ? {} : { type }),
		...(actor === undefined ? {} : { actor }),
	};
	const wanted = all === true ? Number.POSITIVE_INFINITY : parseLimit(limit);
	const events: Answer[] = [];
	for await (const event of listAll(await connect(context), "audit/events", "events", query)) {
		events.push(event);
		if (events.length >= wanted) break;
	}
	const lines = events.map((event) => [
		text(event, "timestamp"),
		text(event, "type"),
		text(event, "actor"),
		optional(event, "realm"),
		text(event, "data"),
	]);
	await showTable(context, { events }, ["TIME", "TYPE", "ACTOR", "REALM", "DATA"], lines, "no events");
}

function parseLimit(given: string | undefined): number {
	if (given === undefined) return DEFAULT_LIMIT;
	if (!/^[1-9]\d{0,8}$/.test(given)) throw new Failure("usage", "--limit takes a number from 1 on");
	return Number(given);
}

/** Design: §10. */
async function verifyAudit(context: Context): Promise<void> {
	const answer = await send(await connect(context), { method: "GET", path: "audit/verify" });
	const status = text(answer, "status");
	await showFields(context, answer, [
		["status", status],
		["events", String(count(answer, "events"))],
		["checkpoints", String(count(answer, "checkpoints"))],
		["last event", optional(answer, "last_seq")],
		["last hash", optional(answer, "last_hash")],
		["message", optional(answer, "message")],
	]);
	if (status !== "intact") throw new Failure("failed", "the audit log is not intact", { code: "audit_not_intact" });
}
