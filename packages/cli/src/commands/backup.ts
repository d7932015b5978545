import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { type Answer, count, rows, text } from "../client/answer.ts";
import { type Client, path, send, sendForContent } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { explainConnection } from "../client/failures.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { note, showFields, showTable, visible } from "../io/output.ts";
import { writePrivateFile } from "../io/private-file.ts";
import { type Report, withProgress } from "../io/progress.ts";
import { instants } from "../io/table.ts";

interface DownloadOptions {
	readonly output?: string;
}

/** Milliseconds to make or download a backup: one of a million secrets takes seconds, a slow line longer. */
const BACKUP_TIMEOUT_MS = 60 * 60 * 1000;

const BYTES_PER_MIB = 1024 * 1024;

/** Adds the backup commands that ask a server; `verify`, and `svc restore`, work on its machine. */
export function addBackupCommands(program: Command, io: Io): void {
	const backup = addGroup(program, "backup", "copies of everything but the master key (`svc backup` alone makes one)");
	addCommand(backup, io, {
		usage: "create",
		isDefault: true,
		summary: "create a verified backup on the server while it keeps running",
		details:
			"Only for the instance's administrators. It does not contain the master key: keep a copy of that in another place.",
		examples: ["svc backup", "svc backup create --json"],
		run: createBackup,
	});
	addCommand(backup, io, {
		usage: "list",
		summary: "list the backups that the server keeps, the newest first",
		examples: ["svc backup list"],
		isList: true,
		run: listBackups,
	});
	addCommand<DownloadOptions>(backup, io, {
		usage: "download <name>",
		summary: "download a backup and check its SHA-256",
		options: [option("--output <file>", "file to write; by default its name in this folder")],
		examples: [
			"svc backup download svc-20300101T000000000Z.db",
			"svc backup download svc-20300101T000000000Z.db --output /mnt/safe/svc.db",
		],
		run: downloadBackup,
	});
}

async function patient(context: Context): Promise<Client> {
	return { ...(await connect(context)), timeoutMs: BACKUP_TIMEOUT_MS };
}

async function createBackup(context: Context): Promise<void> {
	const client = await patient(context);
	const backup = await withProgress(context, "making a backup", () =>
		send(client, { method: "POST", path: "backups" }),
	);
	await showFields(context, backup, [
		["name", text(backup, "name")],
		["created", text(backup, "created_at"), "instant"],
		["bytes", String(count(backup, "bytes"))],
		["sha256", text(backup, "sha256")],
		["events", String(count(backup, "events"))],
		["needs", `the master key with fingerprint ${text(backup, "fingerprint")}, which is not in it`],
	]);
	await note(
		context,
		visible(`\`svc backup download ${text(backup, "name")}\` fetches it: keep it on another machine`),
	);
}

async function listBackups(context: Context): Promise<void> {
	const backups = await fetchList(await patient(context));
	const lines = backups.map((backup) => [
		text(backup, "name"),
		text(backup, "created_at"),
		String(count(backup, "bytes")),
		text(backup, "fingerprint"),
		String(count(backup, "events")),
	]);
	const titles = ["NAME", instants("CREATED"), "BYTES", "MASTER KEY", "EVENTS"];
	await showTable(context, { backups }, titles, lines, "no backups: `svc backup` makes one");
}

async function fetchList(client: Client): Promise<Answer[]> {
	return rows(await send(client, { method: "GET", path: "backups" }), "backups");
}

async function downloadBackup(context: Context<DownloadOptions>, name: string): Promise<void> {
	const client = await patient(context);
	const output = resolve(context.io.cwd(), context.options.output ?? name);
	if (context.options.output === undefined && name.includes("/"))
		throw new Failure("usage", "that is not the name of a backup");
	if (existsSync(output)) {
		throw new Failure("failed", "the file already exists", { hint: "--output names another one" });
	}
	const backups = await fetchList(client);
	const backup = backups.find((listed) => listed.name === name);
	if (backup === undefined) {
		const known = backups.map((listed) => text(listed, "name"));
		throw notFound({ noun: "backup", typed: [name], known, hint: "`svc backup list` shows those that are kept" });
	}
	const sha256 = text(backup, "sha256");
	await withProgress(context, "fetching", async (report) => {
		const content = await sendForContent(client, { method: "GET", path: path`backups/${name}` });
		using _ = endedByInterrupt(context.io, content);
		await writePrivateFile(output, checked(client, content, sha256, report));
	});
	await syncFolder(dirname(output));
	const saved = { ...backup, file: output };
	await showFields(context, saved, [
		["file", output],
		["bytes", String(count(backup, "bytes"))],
		["sha256", text(backup, "sha256")],
	]);
	await note(context, "`svc backup verify` with that file and the master key looks into it");
}

/** Makes Ctrl-C end the download instead of the process, so that no partial file is left. */
function endedByInterrupt(io: Io, content: IncomingMessage): Disposable {
	const end = () => content.destroy(new Failure("interrupted", "interrupted: nothing is kept"));
	io.on("SIGINT", end);
	return { [Symbol.dispose]: () => void io.off("SIGINT", end) };
}

/** Yields the content in chunks. @throws Failure when it is incomplete, or its SHA-256 differs */
async function* checked(
	client: Client,
	content: IncomingMessage,
	sha256: string,
	report: Report,
): AsyncGenerator<Buffer> {
	const digest = createHash("sha256");
	let bytes = 0;
	try {
		for await (const chunk of content as AsyncIterable<Buffer>) {
			bytes += chunk.length;
			report(`${Math.floor(bytes / BYTES_PER_MIB)} MiB`);
			digest.update(chunk);
			yield chunk;
		}
	} catch (error) {
		throw error instanceof Failure ? error : await explainConnection(client, "GET", error);
	}
	if (digest.digest("hex") === sha256) return;
	throw new Failure("failed", "the download is not the backup: its SHA-256 differs", {
		hint: "try again; if it stays so, the server's disk altered the file: make a new one with `svc backup`",
	});
}

/** Flushes the file's name to disk, too. */
async function syncFolder(path: string): Promise<void> {
	const folder = await open(path, constants.O_RDONLY);
	await folder.sync().finally(() => folder.close());
}
