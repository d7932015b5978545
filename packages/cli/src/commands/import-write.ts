import { hash } from "node:crypto";
import { text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { listAll } from "../client/pages.ts";
import type { Context } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { ImportEntry, Skipped } from "../formats/imports/import-result.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { type Report, withProgress } from "../io/progress.ts";

/** Effect of an entry on its destination. */
type Effect = "add" | "change" | "unchanged";

/** An entry of a file with its effect. */
export interface Step extends ImportEntry {
	readonly effect: Effect;
}

/** Destination of entries. */
export interface Destination {
	readonly realm: string;
	readonly environment: string;
}

/** Work of an import. */
interface Work {
	readonly steps: readonly Step[];
	readonly skipped: readonly Skipped[];
}

/** Finds the effect of every entry. */
export async function compare(
	client: Client,
	destination: Destination,
	entries: readonly ImportEntry[],
	report: Report,
): Promise<Step[]> {
	const existing = await readDigests(client, destination, report);
	return entries.map((entry) => ({ ...entry, effect: effectOf(entry.value, existing.get(entry.key)) }));
}

/** The SHA-256 of every secret of the destination, by key. */
async function readDigests(
	client: Client,
	{ realm, environment }: Destination,
	report: Report,
): Promise<Map<string, string>> {
	const digests = new Map<string, string>();
	for await (const secret of listAll(client, path`realms/${realm}/secrets`, "secrets", { env: environment })) {
		digests.set(text(secret, "key"), digestOf(text(secret, "value")));
		report(`${digests.size}`);
	}
	return digests;
}

function digestOf(value: string): string {
	return hash("sha256", value);
}

function effectOf(value: string, before: string | undefined): Effect {
	if (before === undefined) return "add";
	return before === digestOf(value) ? "unchanged" : "change";
}

/** The keys by effect, for programs. */
export function planOf({ realm, environment }: Destination, steps: readonly Step[], skipped: readonly Skipped[]) {
	const keysOf = (effect: Effect) => steps.filter((step) => step.effect === effect).map(({ key }) => key);
	return {
		realm,
		environment,
		add: keysOf("add"),
		change: keysOf("change"),
		unchanged: keysOf("unchanged"),
		skipped,
	};
}

/** Writes what differs, and compares what the server then has with what was sent. @throws Failure at the first that fails */
export async function writeSteps(
	context: Context,
	client: Client,
	destination: Destination,
	{ steps, skipped }: Work,
): Promise<void> {
	const plan = planOf(destination, steps, skipped);
	const pending = steps.filter(({ effect }) => effect !== "unchanged");
	const written: string[] = [];
	try {
		await withProgress(context, "writing secrets", async (report) => {
			using interrupt = noteInterrupt(context.io);
			for (const step of pending) {
				if (interrupt.wasSeen) throw new Failure("interrupted", "interrupted");
				report(`${written.length + 1}/${pending.length}`);
				await writeSecret(client, destination, step);
				written.push(step.key);
			}
		});
	} catch (error) {
		throw await explainHalf(context, plan, pending, written, error);
	}
	if (pending.length > 0)
		await withProgress(context, "comparing", (report) => verify(client, destination, steps, report));
	const summary = `${plan.add.length} added, ${plan.change.length} changed, ${plan.unchanged.length} unchanged`;
	const left = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
	await show(
		context,
		{ ...plan, written, not_written: [] },
		visible(`${summary}${left} in ${destination.realm}/${destination.environment}`),
	);
}

/** Notes Ctrl-C instead of ending the process, so that the import ends between two writes and says how far it came. */
function noteInterrupt(io: Io): Disposable & { readonly wasSeen: boolean } {
	let wasSeen = false;
	const see = () => {
		wasSeen = true;
	};
	io.on("SIGINT", see);
	return {
		get wasSeen() {
			return wasSeen;
		},
		[Symbol.dispose]: () => void io.off("SIGINT", see),
	};
}

async function writeSecret(client: Client, { realm, environment }: Destination, { key, value }: Step): Promise<void> {
	await send(client, { method: "POST", path: path`realms/${realm}/secrets`, body: { key, value, environment } });
}

/** @throws Failure naming the keys whose value on the server is not the one of the file */
async function verify(client: Client, destination: Destination, steps: readonly Step[], report: Report): Promise<void> {
	const digests = await readDigests(client, destination, report);
	const other = steps.filter(({ key, value }) => digests.get(key) !== digestOf(value)).map(({ key }) => key);
	if (other.length === 0) return;
	throw new Failure("failed", `the server does not have what was sent: ${other.join(" ")}`, {
		hint: "perhaps somebody else wrote them meanwhile: `svc secret history` shows who; the same import writes them again",
	});
}

/** Lists what was written and what was not, so that nobody has to guess; importing the same file again continues from there. */
async function explainHalf(
	context: Context,
	plan: object,
	pending: readonly Step[],
	written: readonly string[],
	error: unknown,
): Promise<unknown> {
	const [stopped, ...rest] = pending.slice(written.length);
	if (!(error instanceof Failure) || stopped === undefined) return error;
	const missing = [stopped, ...rest].map(({ key }) => key);
	if (context.options.json === true) await show(context, { ...plan, written, not_written: missing }, "");
	await note(context, visible(`written: ${written.join(" ") || "nothing"}`));
	await note(context, visible(`not written: ${missing.join(" ")}`));
	const isInterrupted = error.kind === "interrupted";
	const message = isInterrupted
		? `interrupted after ${written.length} of ${pending.length}`
		: `line ${stopped.line}, ${stopped.key}: ${error.message}`;
	return new Failure(error.kind, message, {
		code: error.code,
		status: error.status,
		hint: error.hint ?? `the same import continues from here${isInterrupted ? "" : " once the cause is gone"}`,
		cause: error,
	});
}
