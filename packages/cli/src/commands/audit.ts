import type { Command } from "commander";
import { type Answer, optional, text } from "../client/answer.ts";
import { connect } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { showTable } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";
import { addAuditExportCommand } from "./audit-export.ts";
import { addAuditVerifyCommand } from "./audit-verify.ts";

interface ListOptions {
	readonly realm?: string;
	readonly type?: string;
	readonly actor?: string;
	readonly limit?: string;
	readonly all?: boolean;
}

/** Events listed by default. Spec: API › Limits. */
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
			option("--limit <number>", `highest number of events; ${DEFAULT_LIMIT} by default`),
			option("--all", "every event").conflicts("limit"),
		],
		examples: ["svc audit --realm shop", "svc audit list --type auth.login.failed --limit 500 --json"],
		isList: true,
		run: listEvents,
	});
	addAuditExportCommand(audit, io);
	addAuditVerifyCommand(audit, io);
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
	await showTable(context, { events }, [instants("TIME"), "TYPE", ids("ACTOR"), "REALM", "DATA"], lines, "no events");
}

function parseLimit(given: string | undefined): number {
	if (given === undefined) return DEFAULT_LIMIT;
	if (!/^[1-9]\d{0,8}$/.test(given)) throw new Failure("usage", "--limit takes a number of at least 1");
	return Number(given);
}
