import type { Command } from "commander";
import { connectForEngine } from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { repeatable } from "../input/fields.ts";
import { parseLease } from "../input/lease-request.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../input/realm-scope.ts";
import { environmentFor } from "../io/environment.ts";
import type { Io } from "../io/io.ts";
import { note, visible } from "../io/output.ts";
import { LEASE_HELP, withLeases } from "../run/leases.ts";
import { codeOf, type Ended, type Program, runProgram } from "../run/program.ts";
import { requireVariables } from "../run/require.ts";
import { type Secret, type SelectionOptions, selectSecrets } from "../run/secrets.ts";
import { unexpandedName } from "../run/shell.ts";
import { loadSecrets, SOURCE_HELP, SOURCE_OPTIONS, type SourceOptions } from "../run/source.ts";
import { checkVariables, type NamingOptions, type Variable, variablesOf } from "../run/variables.ts";
import { runWatched } from "../run/watch.ts";
import { WATCH_HELP, WATCH_OPTIONS, type WatchOptions, watchSecrets, watchTimes } from "../run/watch-secrets.ts";

interface RunOptions extends EnvironmentOptions, SelectionOptions, NamingOptions, SourceOptions, WatchOptions {
	/** False with --no-masking. */
	readonly masking: boolean;
	readonly require?: string;
	readonly lease?: readonly string[];
}

const DETAILS = `The program gets svc's environment without svc's own variables (SVC_TOKEN and the like), plus a variable for each secret. No shell is involved. svc forwards signals to it, except those that a terminal sends to every program in the foreground, such as Ctrl-C: the program has received them already.
svc exits with the program's exit code, or with 128 plus the number of the signal that ended it. 125 means that svc itself failed, 126 that the program cannot be run, 127 that it is not found.
svc replaces values of 6 characters or more with ***** in the program's output, also in their JSON, URL and Base64 encodings. For this, the output goes through svc; a program that needs a terminal, such as an editor or a shell, needs --no-masking.
${LEASE_HELP}
${WATCH_HELP}
${SOURCE_HELP}`;

const OPTIONS = [
	...ENVIRONMENT_OPTIONS,
	repeatable("--only <key>", "only this secret; may be given several times"),
	repeatable("--except <key>", "without this secret; may be given several times"),
	option("--prefix <text>", "begin the name of each variable with this"),
	option("--map-names", "replace - . and / in keys with _"),
	option("--allow-reserved", "also set variables such as PATH and NODE_OPTIONS, which decide what runs"),
	option("--require <file>", "fail when a variable that this .env file names is missing; its values do not count"),
	option("--no-masking", "let the program use the terminal, and do not mask its output"),
	repeatable("--lease <engine:role>", "add a credential of an engine; may be given several times").conflicts("offline"),
	...WATCH_OPTIONS,
	...SOURCE_OPTIONS,
];

/** Adds the command that runs a program with the secrets of an environment. */
export function addRunCommand(program: Command, io: Io): void {
	addCommand<RunOptions>(program, io, {
		usage: "run <command...>",
		summary: "run a program with the secrets of an environment as its variables",
		details: DETAILS,
		runsProgram: true,
		options: OPTIONS,
		examples: [
			"svc run --realm shop --env prod -- ./server --port 8080",
			"svc run --realm shop --only DATABASE_URL -- sh -c 'psql \"$DATABASE_URL\"'",
			"svc run --realm shop --lease cache=keyvalue:readonly,ttl=8h --watch -- ./server",
			"svc run --realm shop --require .env.example --offline --max-age 8h -- npm test",
		],
		run: runWithSecrets,
	});
}

async function runWithSecrets(context: Context<RunOptions>, ...words: string[]): Promise<number> {
	const { io, options } = context;
	const where = { realm: realmOf(context), environment: environmentOf(context) };
	const leases = (options.lease ?? []).map((text) => parseLease(text));
	const times = watchTimes(options);
	const toVariables = (secrets: readonly Secret[]) => variablesOf(selectSecrets(secrets, where, options), options);
	const variables = toVariables(await loadSecrets(context, where));
	await hintAtShell(context, words, variables);
	const run = async (leased: readonly Variable[]): Promise<Ended> => {
		const program = programOf(context, words, [...variables, ...leased]);
		if (options.require !== undefined) await requireVariables(options.require, program.env);
		if (times === undefined) return runProgram(io, program);
		const build = (secrets: readonly Secret[]) => programOf(context, words, [...toVariables(secrets), ...leased]);
		return runWatched(io, program, await watchSecrets(context, where, times, build));
	};
	if (leases.length === 0) return codeOf(await run([]));
	return codeOf(await withLeases(context, await connectForEngine(context), where.realm, leases, run));
}

/** @throws Failure when two variables have one name */
function programOf(
	{ io, options }: Context<RunOptions>,
	[command = "", ...args]: readonly string[],
	variables: readonly Variable[],
): Program {
	checkVariables(variables);
	const secret = variables.filter(({ isPublic }) => isPublic !== true);
	const masked = options.masking ? secret.map(({ value }) => value) : [];
	return { command, args, env: environmentFor(io, variables), masked };
}

async function hintAtShell(context: Context, words: readonly string[], variables: readonly Variable[]): Promise<void> {
	const name = unexpandedName(words, variables);
	if (name !== undefined)
		await note(context, visible(`hint: no shell replaces $${name} here: \`svc run … -- sh -c '… "$${name}"'\` does`));
}
