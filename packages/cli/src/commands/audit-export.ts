import type { Command } from "commander";
import type { Answer } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connectForEngine } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { type KeySetRef, keySetOf } from "../formats/audit-keys.ts";
import { parseInstant } from "../input/duration.ts";
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
			"Each line holds the event's number, its hash and the hash before it, so that `svc audit verify --file` can check it without a server. Before the first event of a bulk read that refers to a set of keys (key_set), a line has the set's parts, and lines before it the keys of each part: each is written once. The export ends with the newest event at its start. Only you can read the file (mode 0600), and it appears only when it is complete.",
		options: [
			option("--output <file>", "file to write; one of that name is replaced").makeOptionMandatory(),
			option("--realm <slug>", "of this realm"),
			option("--since <time>", "from then on: a duration such as 7d, or an instant such as 2030-01-31T00:00:00Z"),
			option("--until <time>", "before then: a duration or an instant"),
		],
		examples: [
			"svc audit export --output audit.jsonl",
			"svc audit export --realm shop --since 7d --output week.jsonl",
			"svc audit export --realm shop --since 2030-01-01T00:00:00Z --until 2030-02-01T00:00:00Z --output january.jsonl",
		],
		run: exportEvents,
	});
}

async function exportEvents(context: Context<ExportOptions>): Promise<void> {
	const { output, realm, since, until } = context.options;
	const now_ms = Date.now();
	const query = {
		...(realm === undefined ? {} : { realm }),
		...(since === undefined ? {} : { since: parseInstant("--since", since, now_ms) }),
		...(until === undefined ? {} : { until: parseInstant("--until", until, now_ms) }),
	};
	const client = await connectForEngine(context);
	const keys = createKeysReader(client);
	let events = 0;
	async function* lines(report: Report): AsyncGenerator<string> {
		for await (const event of listAll(client, "audit/export", "events", query)) {
			for await (const line of keys.before(event)) yield `${toJson(line, 0)}\n`;
			yield `${toJson(event, 0)}\n`;
			events += 1;
			report(`${events}`);
		}
	}
	await withProgress(context, "exporting events", (report) => writePrivateFile(output, lines(report)));
	await show(context, { file: output, events }, visible(`${events} events in ${output}`));
	if (keys.missing() > 0)
		await note(context, `the keys of ${keys.missing()} bulk reads are not in it: you cannot see their realms any more`);
	await note(context, visible(`\`svc audit verify --file ${output}\` checks them`));
}

/** Reads the keys that events refer to, each part of them once. */
function createKeysReader(client: Client) {
	const read = new Set<string>();
	const unread = new Set<string>();

	async function* before(event: Answer): AsyncGenerator<Answer> {
		const ref = keySetOf(event);
		if (ref === undefined || read.has(`${ref.realm_id} ${ref.key_set}`)) return;
		read.add(`${ref.realm_id} ${ref.key_set}`);
		const parts = (await look(ref, ref.key_set))?.parts;
		if (!Array.isArray(parts)) return void unread.add(ref.key_set);
		for (const part of parts.map(String)) {
			if (read.has(part)) continue;
			const keys = (await look(ref, part))?.keys;
			if (!Array.isArray(keys)) return void unread.add(ref.key_set);
			read.add(part);
			yield { key_part: part, keys };
		}
		yield { key_set: ref.key_set, parts };
	}

	/** @returns undefined when the realm is gone, or not this caller's to look at */
	async function look({ realm }: KeySetRef, hash: string): Promise<Answer | undefined> {
		try {
			return await send(client, { method: "GET", path: path`realms/${realm}/audit/keys/${hash}` });
		} catch (error) {
			if (error instanceof Failure && (error.kind === "notFound" || error.kind === "denied")) return undefined;
			throw error;
		}
	}

	return { before, missing: () => unread.size };
}
