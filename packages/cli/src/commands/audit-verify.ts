import type { Command } from "commander";
import { type Answer, count, optional, rows, text } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connectForEngine } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { type Anchor, type ChainReport, checkExport, readExport } from "../formats/audit-chain.ts";
import type { Io } from "../io/io.ts";
import { showFields } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";

interface VerifyOptions {
	readonly file?: string;
	readonly seq?: string;
	readonly hash?: string;
}

/** Adds the command that checks whether the log was altered. */
export function addAuditVerifyCommand(audit: Command, io: Io): void {
	addCommand<VerifyOptions>(audit, io, {
		usage: "verify",
		summary: "check that no event, and nothing that it granted, was altered; exits with 0 only then, else with 1",
		details:
			"The server also compares its accounts, sessions, API tokens, realms, roles, limits, engines' configurations, providers, linked identities and keys with the log, and names those that were forged, changed, removed, or restored after they had ended, and events of an account, token or session that did not exist. It also names the tables whose other rows, such as values, versions and leases, another program wrote. The server's log is for the instance's administrators; anybody can check a file of `svc audit export`, without a server. The server signs a checkpoint now and then and writes it to its own log (audit.checkpoint): with --seq and --hash of one that you kept elsewhere, svc also notices a log that was cut off or rolled back as a whole. A file holds only the events that its maker could see: svc counts the missing ones as gaps.",
		options: [
			option("--seq <number>", "event of a checkpoint that was kept elsewhere"),
			option("--hash <hex>", "its hash"),
			option("--file <file>", "look through this export in place of the server's log"),
		],
		examples: ["svc audit verify", "svc audit verify --seq 48213 --hash 9f2c…", "svc audit verify --file audit.jsonl"],
		run: verify,
	});
}

async function verify(context: Context<VerifyOptions>): Promise<void> {
	const { file, seq, hash } = context.options;
	const anchor = parseAnchor(seq, hash);
	const answer = file === undefined ? await askServer(context, anchor) : await lookThrough(context, file, anchor);
	const status = text(answer, "status");
	await showFields(context, answer, [
		["status", status],
		["events", String(count(answer, "events"))],
		...(file === undefined
			? [["checkpoints", String(count(answer, "checkpoints"))] as const]
			: [["gaps", String(count(answer, "gaps"))] as const]),
		...(anchor === undefined
			? []
			: [["checkpoint from elsewhere", answer.anchored === true ? "met" : "not met"] as const]),
		["last event", optional(answer, "last_seq")],
		["last hash", optional(answer, "last_hash")],
		["message", optional(answer, "message")],
		...listed(answer, "differences", inWords).map((line) => ["row", line] as const),
		...listed(answer, "strange", strangeInWords).map((line) => ["event", line] as const),
		...(Array.isArray(answer.altered) ? answer.altered.map((what) => ["altered", String(what)] as const) : []),
	]);
	if (status === "rows_differ")
		throw new Failure("failed", "rows grant something other than the audit log says", { code: "rows_differ" });
	if (status === "events_differ")
		throw new Failure("failed", "events name an account, token or session that did not exist", {
			code: "events_differ",
		});
	if (status === "rows_altered")
		throw new Failure("failed", "another program altered the database", { code: "rows_altered" });
	if (status !== "intact") throw new Failure("failed", "the audit log is not intact", { code: "audit_not_intact" });
}

/** Lines of a list of the answer; an exported file has no rows to compare. */
function listed(answer: Answer, name: string, line: (row: Answer) => string): string[] {
	return answer[name] === undefined ? [] : rows(answer, name).map(line);
}

/** Names a row that differs from the log, and since when. */
function inWords(row: Answer): string {
	const [kind, id, problem, name] = [text(row, "kind"), text(row, "id"), text(row, "problem"), optional(row, "name")];
	const since = row.seq === undefined ? "" : `, against event ${count(row, "seq")} of ${text(row, "since")}`;
	return `${kind} ${id}${name === "" ? "" : ` (${name})`} is ${problem}${since}`;
}

/** Names an event whose maker did not exist. */
function strangeInWords(row: Answer): string {
	const [type, at, kind, id] = ["type", "timestamp", "kind", "id"].map((name) => text(row, name));
	const event = `${count(row, "seq")} of ${at}, ${type}, is of ${kind} ${id}`;
	if (text(row, "problem") === "unknown") return `${event}, which no event had made`;
	return row.ended_by === undefined
		? `${event}, which had ended`
		: `${event}, which event ${count(row, "ended_by")} had ended at ${text(row, "since")}`;
}

function parseAnchor(seq: string | undefined, hash: string | undefined): Anchor | undefined {
	if (seq === undefined && hash === undefined) return undefined;
	const isRight = /^[1-9][0-9]{0,14}$/.test(seq ?? "") && /^[0-9a-f]{64}$/i.test(hash ?? "");
	if (isRight) return { seq: Number(seq), hash: String(hash).toLowerCase() };
	throw new Failure("usage", "a checkpoint is --seq with a number and --hash with 64 hexadecimal digits");
}

/** Design: §10. */
async function askServer(context: Context, anchor: Anchor | undefined): Promise<Answer> {
	const client = await connectForEngine(context);
	const query = anchor === undefined ? {} : { seq: String(anchor.seq), hash: anchor.hash };
	return withProgress(context, "recomputing the log", () =>
		send(client, { method: "GET", path: "audit/verify", query }),
	);
}

async function lookThrough(context: Context, file: string, anchor: Anchor | undefined): Promise<Answer> {
	const report = await withProgress(context, "looking through the file", () => checkExport(readExport(file), anchor));
	return { ...report, message: describe(report, anchor) };
}

function describe({ status, events, gaps, anchored, altered_seq }: ChainReport, anchor: Anchor | undefined): string {
	if (status === "altered" && altered_seq === undefined) return "the keys of a bulk read are not as they were written";
	if (status === "altered") return `event ${altered_seq} is not as it was written, or not where it was`;
	if (status === "truncated") return "the file ends before the checkpoint's event: it was cut off, or made earlier";
	const met = anchor !== undefined && !anchored ? "; the checkpoint's event is not in it" : "";
	const whole = gaps === 0 ? "in an unbroken chain" : "as it was written; what is between them is not in the file";
	return `${events === 0 ? "there is no event in it" : `every event is ${whole}`}${met}`;
}
