import type { Command } from "commander";
import { connectForEngine } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { note, show, toJson, visible } from "../io/output.ts";
import { writePrivateFile } from "../io/private-file.ts";
import { type Report, withProgress } from "../io/progress.ts";

interface ExportOptions {
	readonly realm?: string;
	readonly since?: string;
	readonly until?: string;
	readonly output: string;
}

/** Adds the command that exports the log. */
export function addAuditExportCommand(audit: Command, io: Io): void {
	addCommand<ExportOptions>(audit, io, {
		usage: "export",
		summary: "export the events that you can see to a file, oldest first, one JSON object a line",
		details:
			"Each line holds the event's number, its hash and the hash before it, so that `svc audit verify --file` can check it without a server. The export ends with the newest event at its start. Only you can read the file (mode 0600), and it appears only when it is complete.",
		options: [
			option("--output <file>", "file to write; one of that name is replaced").makeOptionMandatory(),
			option("--realm <slug>", "of this realm"),
			option("--since <instant>", "from this instant on, such as 2030-01-31T00:00:00Z"),
			option("--until <instant>", "before this instant"),
		],
		examples: [
			"svc audit export --output audit.jsonl",
			"svc audit export --realm shop --since 2030-01-01T00:00:00Z --until 2030-02-01T00:00:00Z --output january.jsonl",
		],
		run: exportEvents,
	});
}

async function exportEvents(context: Context<ExportOptions>): Promise<void> {
	const { output, realm, since, until } = context.options;
	const query = {
		...(realm === undefined ? {} : { realm }),
		...(since === undefined ? {} : { since }),
		...(until === undefined ? {} : { until }),
	};
	const client = await connectForEngine(context);
	let events = 0;
	async function* lines(report: Report): AsyncGenerator<string> {
		for await (const event of listAll(client, "audit/export", "events", query)) {
			yield `${toJson(event, 0)}\n`;
			events += 1;
			report(`${events}`);
		}
	}
	await withProgress(context, "exporting events", (report) => writePrivateFile(output, lines(report)));
	await show(context, { file: output, events }, visible(`${events} events in ${output}`));
	await note(context, visible(`\`svc audit verify --file ${output}\` checks them`));
}
