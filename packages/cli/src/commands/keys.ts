import type { Command } from "commander";
import { type Answer, count, object, optional, rows, text } from "../client/answer.ts";
import { type Client, send } from "../client/client.ts";
import { connectForEngine } from "../client/connection.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { note, show, showFields, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";
import { ids, instants, states } from "../io/table.ts";

interface StatusOptions {
	readonly realm?: string;
}

interface RotateOptions extends StatusOptions {
	readonly master?: boolean;
	readonly data?: boolean;
	readonly yes?: boolean;
}

const INSTANCE_ONLY = "Only for the instance's administrators.";

/** Adds the commands of the server's keys. */
export function addKeysCommands(program: Command, io: Io): void {
	const keys = addGroup(program, "keys", "the master key, and the keys that it wraps");
	addCommand<StatusOptions>(keys, io, {
		usage: "status",
		summary: "show which master key is in use and the keys under it, never a key itself",
		details: INSTANCE_ONLY,
		options: [option("--realm <slug>", "the keys of this realm instead of the instance's own")],
		examples: ["svc keys status", "svc keys status --realm shop --json"],
		isList: true,
		run: showStatus,
	});
	addCommand<RotateOptions>(keys, io, {
		usage: "rotate",
		summary: "replace the master key, or the keys that seal and sign, while the server works",
		details: `${INSTANCE_ONLY} Data sealed with older keys stays readable, and nobody is signed out. The key that authenticates rows is destroyed when none needs it any more; until then it cannot be replaced again. A master key in a file is replaced in that file. The server cannot change one from a credential or the environment: give it the next one first, as the credential next-master-key or in the file of next_master_key_file.\nA backup opens only with the master key of its time: keep a copy of each key as long as its backups.`,
		options: [
			option("--master", "the master key").conflicts(["data", "realm"]),
			option("--data", "the keys of the instance: record, portable, session, checkpoint, cursor, rows"),
			option("--realm <slug>", "with --data: the record key of this realm only"),
			option("--yes", "do not ask"),
		],
		examples: ["svc keys rotate --master", "svc keys rotate --data", "svc keys rotate --data --realm shop --yes"],
		run: rotate,
	});
}

async function readStatus(client: Client, realm: string | undefined): Promise<Answer> {
	return send(client, { method: "GET", path: "keys", ...(realm === undefined ? {} : { query: { realm } }) });
}

async function showStatus(context: Context<StatusOptions>): Promise<void> {
	const answer = await readStatus(await connectForEngine(context), context.options.realm);
	const master = object(answer, "master");
	const ofRealms = object(answer, "realm_keys");
	if (context.options.json !== true) {
		await showFields(context, answer, [
			["master key", text(master, "fingerprint")],
			["from", [text(master, "origin"), optional(master, "file")].filter(Boolean).join(" ")],
			...(optional(master, "next") === "" ? [] : [["next", text(master, "next")] as const]),
			["keys of realms", `${count(ofRealms, "active")} active, ${count(ofRealms, "retired")} retired`],
		]);
		await note(context, "");
	}
	const lines = rows(answer, "keys").map((key) =>
		["purpose", "state", "id", "created_at"].map((name) => text(key, name)),
	);
	await showTable(context, answer, ["PURPOSE", states("STATE"), ids("ID"), instants("CREATED")], lines, "no keys");
}

/** Keys of the instance, in the order of their rotation. */
const DATA_PURPOSES = ["record", "portable", "session", "checkpoint", "cursor", "rows"];

async function rotate(context: Context<RotateOptions>): Promise<void> {
	const { master, data, realm, yes } = context.options;
	if (master !== true && data !== true) throw new Failure("usage", "say which keys: --master or --data");
	// Moving many keys under another master key takes a while.
	const client = await connectForEngine(context);
	if (yes !== true) {
		const question = visible(master === true ? await aboutMaster(client) : aboutData(realm));
		await confirmUnless(context, question, { doing: "replacing keys", done: "replaced" });
	}
	const ofInstance = master === true ? ["master"] : DATA_PURPOSES;
	const wanted = realm === undefined ? ofInstance.map((purpose) => ({ purpose })) : [{ purpose: "record", realm }];
	const rotated: Answer[] = [];
	try {
		await withProgress(context, "replacing keys", async (report) => {
			for (const body of wanted) {
				report(`${rotated.length + 1}/${wanted.length}`);
				rotated.push({ ...body, ...(await send(client, { method: "POST", path: "keys/rotate", body })) });
			}
		});
	} finally {
		// When one fails, those before it stay replaced.
		if (rotated.length > 0) await showRotated(context, rotated);
	}
}

async function showRotated(context: Context, rotated: readonly Answer[]): Promise<void> {
	const lines = rotated.map((one) =>
		visible(`${text(one, "purpose")} key ${text(one, "id")}: ${text(one, "message")}`),
	);
	await show(context, { rotated }, lines.join("\n"));
}

async function aboutMaster(client: Client): Promise<string> {
	const { fingerprint, file } = object(await readStatus(client, undefined), "master");
	const place = file === "" ? "" : ` (${String(file)})`;
	return `The master key ${String(fingerprint)}${place} is replaced. Backups made until now open with it alone: keep a copy of it first. Replace it?`;
}

function aboutData(realm: string | undefined): string {
	return `Replace ${realm === undefined ? "the keys of the instance" : `the record key of ${realm}`}? The older ones stay for what they sealed.`;
}
