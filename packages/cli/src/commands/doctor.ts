import type { Command } from "commander";
import { optional, rows, text } from "../client/answer.ts";
import { type Client, send, sendForReply } from "../client/client.ts";
import { connect, findTarget } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { wrap } from "../io/display-width.ts";
import type { Io } from "../io/io.ts";
import { layoutFor, show, visible, visibleCells } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { layOut, states } from "../io/table.ts";
import {
	type Check,
	checkClock,
	checkConnection,
	checkSessionFile,
	checkStore,
	checkVersion,
} from "./doctor-checks.ts";

interface DoctorOptions {
	readonly deep?: boolean;
}

/** Longer than the server needs: it abandons checks that do not answer. */
const TIMEOUT_MS = 90_000;
const DEEP_TIMEOUT_MS = 35 * 60_000;

/** Adds the command that checks server and client. */
export function addDoctorCommand(program: Command, io: Io): void {
	addCommand<DoctorOptions>(program, io, {
		usage: "doctor",
		summary: "check server, engines and this client, and say what to do",
		details: `Only for the instance's administrators. The server checks its clock, certificate, files, disk, database, audit log, backups, leases and engines, and asks every engine's target for the rights that the engine needs there. It changes nothing. The client checks the connection, the clocks and versions of both sides, and the session file.
Ends with 1 when a check failed; warnings alone end with 0.`,
		options: [
			option(
				"--deep",
				"read the whole database and the whole log, and open every sealed value, showing none; this may take minutes",
			),
		],
		examples: ["svc doctor", "svc doctor --deep", "svc doctor --json"],
		run: runDoctor,
	});
}

async function runDoctor(context: Context<DoctorOptions>): Promise<void> {
	const { io, options } = context;
	const target = await findTarget(context);
	const client = { ...(await connect(context)), timeoutMs: options.deep === true ? DEEP_TIMEOUT_MS : TIMEOUT_MS };
	const health = await sendForReply(client, { method: "GET", path: "health", accept: [503] });
	const here = [
		...(await checkConnection(target)),
		checkClock(health.headers.date, Date.now()),
		checkVersion(optional(health.answer, "version")),
		...(await checkSessionFile(io)),
	];
	const away = checkStore(health.answer);
	const there = away.length > 0 ? away : await askServer(context, client);
	const checks: Check[] = [...there, ...here];
	await show(context, { checks }, linesOf(context, checks).join("\n"));
	const failed = checks.filter(({ status }) => status === "failed").length;
	if (failed > 0) throw new Failure("failed", failed === 1 ? "one check failed" : `${failed} checks failed`);
}

async function askServer(context: Context<DoctorOptions>, client: Client): Promise<Check[]> {
	const query: Record<string, string> = context.options.deep === true ? { deep: "true" } : {};
	const answer = await withProgress(context, "checking", () => send(client, { method: "GET", path: "doctor", query }));
	return rows(answer, "checks").map((check) => ({
		name: text(check, "name"),
		status: text(check, "status"),
		message: text(check, "message"),
		hint: text(check, "hint"),
	}));
}

/** A line for each check, with its hint below. */
function linesOf(context: Context, checks: readonly Check[]): string[] {
	const layout = layoutFor(context);
	const cells = visibleCells(checks.map(({ name, status, message }) => [status, name, message]));
	const { rows: lines } = layOut([states(""), "", ""], cells, layout);
	return checks.flatMap(({ hint }, at) => [
		...(lines[at] ?? []),
		...(hint === "" ? [] : hintLines(hint, layout.width)),
	]);
}

const HINT_INDENT = " ".repeat(9);

function hintLines(hint: string, width: number): string[] {
	return wrap(`hint: ${visible(hint)}`, width - HINT_INDENT.length).map((line) => HINT_INDENT + line);
}
