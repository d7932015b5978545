import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { listAll } from "../client/pages.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { type DotenvEntry, DotenvError, decodeDotenv, parseDotenv } from "../formats/dotenv.ts";
import { parseMapping } from "../formats/mapping.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, show, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { readStdin } from "../io/prompt.ts";

interface ImportOptions extends EnvironmentOptions {
	readonly format?: string;
	readonly dryRun?: boolean;
	readonly skipEmpty?: boolean;
}

/** Effect of an entry on its destination. */
type Effect = "add" | "change" | "unchanged";

interface Step extends DotenvEntry {
	readonly effect: Effect;
}

/** Destination of entries. */
interface Destination {
	readonly realm: string;
	readonly environment: string;
}

const DETAILS = `svc reads the whole file before it writes anything. It writes only what differs, and deletes nothing.
Values: KEY=value up to the end of the line or to a # after a blank; 'single quotes' keep everything as it is; "double quotes" know \\n \\r \\t \\\\ \\" \\$; both may span lines. $ is an ordinary character.
A file that ends in .json, .yaml or .yml is an object or a mapping of texts, or a Secret of Kubernetes, as \`svc export\` writes them.`;

const FORMATS = ["dotenv", "json", "yaml", "k8s"];

/** Adds the command that imports the entries of a .env file as secrets. */
export function addImportCommand(program: Command, io: Io): void {
	addCommand<ImportOptions>(program, io, {
		usage: "import <file>",
		summary: "write the entries of a .env, JSON or YAML file as secrets (- for standard input)",
		details: DETAILS,
		options: [
			...ENVIRONMENT_OPTIONS,
			option("--format <format>", "what the file is; else its name says it").choices(FORMATS),
			option("--dry-run", "only show what would be added and changed"),
			option("--skip-empty", "skip entries without a value, which the server does not store"),
		],
		examples: ["svc import .env --realm shop --env dev --dry-run", "svc import .env --realm shop --env dev"],
		run: importFile,
	});
}

async function importFile(context: Context<ImportOptions>, file: string): Promise<void> {
	const destination = { realm: realmOf(context), environment: environmentOf(context) };
	const entries = await readEntries(context, file);
	const client = await connect(context);
	const steps = await compare(client, destination, entries);
	if (context.options.dryRun === true) return showPlan(context, destination, steps);
	await writeSteps(context, client, destination, steps);
}

async function readEntries({ io, options }: Context<ImportOptions>, file: string): Promise<DotenvEntry[]> {
	const isMapping = options.format === undefined ? /\.(?:json|ya?ml)$/i.test(file) : options.format !== "dotenv";
	const entries = await parse(file === "-" ? await readStdin(io) : await readFile(file), isMapping);
	const empty = entries.find(({ value }) => value === "");
	if (empty === undefined) return entries;
	if (options.skipEmpty === true) return entries.filter(({ value }) => value !== "");
	throw new Failure("failed", `line ${empty.line}: the value is empty, and the server stores no empty values`, {
		hint: "--skip-empty leaves such entries out",
	});
}

async function parse(content: Buffer, isMapping: boolean): Promise<DotenvEntry[]> {
	try {
		const text = decodeDotenv(content);
		return isMapping ? await parseMapping(text) : parseDotenv(text);
	} catch (error) {
		throw error instanceof DotenvError ? new Failure("failed", error.message) : error;
	}
}

async function compare(
	client: Client,
	{ realm, environment }: Destination,
	entries: readonly DotenvEntry[],
): Promise<Step[]> {
	const existing = new Map<string, string>();
	for await (const secret of listAll(client, path`realms/${realm}/secrets`, "secrets", { env: environment })) {
		existing.set(text(secret, "key"), text(secret, "value"));
	}
	return entries.map((entry) => ({ ...entry, effect: effectOf(entry.value, existing.get(entry.key)) }));
}

function effectOf(value: string, before: string | undefined): Effect {
	if (before === undefined) return "add";
	return before === value ? "unchanged" : "change";
}

function keysOf(steps: readonly Step[], effect: Effect): string[] {
	return steps.filter((step) => step.effect === effect).map(({ key }) => key);
}

function planOf({ realm, environment }: Destination, steps: readonly Step[]) {
	return {
		realm,
		environment,
		add: keysOf(steps, "add"),
		change: keysOf(steps, "change"),
		unchanged: keysOf(steps, "unchanged"),
	};
}

async function showPlan(context: Context, destination: Destination, steps: readonly Step[]): Promise<void> {
	const plan = planOf(destination, steps);
	const lines = steps.map(({ effect, key, line }) => [effect, key, String(line)]);
	await showTable(context, { dry_run: true, ...plan }, ["EFFECT", "KEY", "LINE"], lines, "the file holds no entries");
	await note(
		context,
		`${plan.add.length} to add, ${plan.change.length} to change, ${plan.unchanged.length} unchanged; nothing was written`,
	);
}

async function writeSteps(
	context: Context,
	client: Client,
	destination: Destination,
	steps: readonly Step[],
): Promise<void> {
	const plan = planOf(destination, steps);
	const pending = steps.filter(({ effect }) => effect !== "unchanged");
	const written: string[] = [];
	try {
		await withProgress(context, "writing secrets", async (report) => {
			for (const step of pending) {
				report(`${written.length + 1}/${pending.length}`);
				await writeSecret(client, destination, step);
				written.push(step.key);
			}
		});
	} catch (error) {
		throw await explainHalf(context, plan, pending, written, error);
	}
	const summary = `${plan.add.length} added, ${plan.change.length} changed, ${plan.unchanged.length} unchanged`;
	await show(
		context,
		{ ...plan, written, not_written: [] },
		visible(`${summary} in ${destination.realm}/${destination.environment}`),
	);
}

async function writeSecret(client: Client, { realm, environment }: Destination, { key, value }: Step): Promise<void> {
	await send(client, { method: "POST", path: path`realms/${realm}/secrets`, body: { key, value, environment } });
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
	return new Failure(error.kind, `line ${stopped.line}, ${stopped.key}: ${error.message}`, {
		code: error.code,
		status: error.status,
		hint: error.hint ?? "the same import goes on from here once the cause is gone",
		cause: error,
	});
}
