import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { connect } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { DIALECTS } from "../formats/imports/dialects/dialects.ts";
import {
	checkResult,
	describeProblem,
	type ImportResult,
	type Problem,
	type Skipped,
} from "../formats/imports/import-result.ts";
import { FILE_FORMATS, type FileOptions, readSecretsFile, SOURCES } from "../formats/imports/sources.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import type { Io } from "../io/io.ts";
import { note, showTable, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { readStdin } from "../io/prompt.ts";
import { compare, type Destination, planOf, type Step, writeSteps } from "./import-write.ts";

interface ImportOptions extends EnvironmentOptions, FileOptions {
	readonly under?: string;
	readonly dryRun?: boolean;
	readonly skipEmpty?: boolean;
}

const DETAILS = `svc reads the whole file before it writes anything, and shows every mistake in it. It writes only what differs, deletes nothing, and compares afterwards what the server has with what was sent. After Ctrl-C, or a failure, the same command continues from there.
vault      what \`vault kv get -format=json\` prints, or a tree of secrets: the path begins the key
infisical  what \`infisical export\` prints, as json (best), csv, yaml or dotenv
doppler    what \`doppler secrets download --no-file\` prints, as json, yaml or env
dotenv     KEY=value up to the end of the line or to a # after a blank; 'single quotes' keep everything as it is; "double quotes" know \\n \\r \\t \\\\ \\" \\$; both may span lines. $ is an ordinary character. Where node, docker compose or a shell would read something else, svc says so; --dialect reads the file as that program does.
json, yaml an object or a mapping of texts; a number, true and false become the text as it is written
csv        rows with a first one that names the columns key and value
k8s        a Secret of Kubernetes, or a list of them`;

/** Adds the command that imports the entries of a file as secrets. */
export function addImportCommand(program: Command, io: Io): void {
	addCommand<ImportOptions>(program, io, {
		usage: "import <file>",
		summary: "write the entries of a file as secrets, also from other tools (- for standard input)",
		details: DETAILS,
		options: [
			...ENVIRONMENT_OPTIONS,
			option("--from <source>", "tool that wrote the file, or the file's format; else its name says it").choices(
				SOURCES,
			),
			option(
				"--format <format>",
				"format of the file, for --from a tool; else its name or its beginning says it",
			).choices(FILE_FORMATS),
			option("--dialect <program>", "read a .env file as this program does").choices(Object.keys(DIALECTS)),
			option("--under <path>", "only what is below this path or folder, which the keys then leave out"),
			option("--dry-run", "only show what would be added, changed and skipped"),
			option("--skip-empty", "skip entries without a value, which the server does not store"),
		],
		examples: [
			"svc import .env --realm shop --env dev --dry-run",
			"svc import .env --realm shop --env dev",
			"vault kv get -format=json secret/shop | svc import - --from vault --realm shop --env prod",
			"doppler secrets download --no-file --format json | svc import - --from doppler --realm shop --env prod",
		],
		run: importFile,
	});
}

async function importFile(context: Context<ImportOptions>, file: string): Promise<void> {
	const destination = { realm: realmOf(context), environment: environmentOf(context) };
	const result = await readEntries(context, file);
	const client = await connect(context);
	const steps = await withProgress(context, "reading what is there", (report) =>
		compare(client, destination, result.entries, report),
	);
	if (context.options.dryRun === true) return showPlan(context, destination, steps, result.skipped);
	await showSkipped(context, result.skipped);
	await writeSteps(context, client, destination, { steps, skipped: result.skipped });
}

async function readEntries(context: Context<ImportOptions>, file: string): Promise<ImportResult> {
	const { io, options } = context;
	const content = file === "-" ? await readStdin(io) : await readFile(resolve(io.cwd(), file));
	const found = await readSecretsFile(file, content, options);
	const result = checkResult(found, { skipEmpty: options.skipEmpty === true, under: options.under });
	for (const remark of result.remarks) await note(context, visible(remark));
	if (result.problems.length > 0) throw await refusal(context, result.problems);
	if (result.entries.length > 0 || found.skipped.length === 0) return result;
	await showSkipped(context, result.skipped);
	throw new Failure("failed", "nothing is left to import: everything in the file was skipped");
}

/** Most mistakes that are shown. */
const MAX_SHOWN = 100;

/** Remedies for mistakes, by how the problem begins. */
const REMEDIES: readonly (readonly [problem: RegExp, remedy: string])[] = [
	[/^the value is empty/, "--skip-empty leaves such entries out"],
	[
		/^the value is (?:an object|a list)/,
		"a secret is one text: give each value below an object or list a key of its own, such as DB_HOST, or put the whole into quotes",
	],
];

/** Shows a single mistake as the failure itself, and several on a line each. */
async function refusal(context: Context, problems: readonly Problem[]): Promise<Failure> {
	const lines = problems.map(describeProblem);
	const remedies = REMEDIES.filter(([pattern]) => problems.some(({ problem }) => pattern.test(problem)));
	const hint = remedies.length === 0 ? undefined : remedies.map(([, remedy]) => remedy).join("; ");
	if (lines.length === 1 || context.options.json === true)
		return new Failure("failed", lines.slice(0, MAX_SHOWN).join("; "), { hint });
	for (const line of lines.slice(0, MAX_SHOWN)) await note(context, visible(line));
	if (lines.length > MAX_SHOWN) await note(context, `… and ${lines.length - MAX_SHOWN} more`);
	return new Failure("failed", `the file has ${lines.length} mistakes, and nothing was written`, { hint });
}

async function showSkipped(context: Context, skipped: readonly Skipped[]): Promise<void> {
	for (const { line, key, reason } of skipped)
		await note(context, visible(`skipped: line ${line}${key === "" ? "" : `, ${key}`} ${reason}`));
}

async function showPlan(
	context: Context,
	destination: Destination,
	steps: readonly Step[],
	skipped: readonly Skipped[],
): Promise<void> {
	const plan = planOf(destination, steps, skipped);
	const lines = steps.map(({ effect, key, line }) => [effect, key, String(line)]);
	await showTable(context, { dry_run: true, ...plan }, ["EFFECT", "KEY", "LINE"], lines, "the file holds no entries");
	await showSkipped(context, skipped);
	const counts = `${plan.add.length} to add, ${plan.change.length} to change, ${plan.unchanged.length} unchanged`;
	const left = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
	await note(context, `${counts}${left}; nothing was written`);
}
