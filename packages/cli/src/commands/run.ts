import type { Command } from "commander";
import { addCommand, type Context, option } from "../command.ts";
import { connect } from "../connection.ts";
import { repeatable } from "../fields.ts";
import type { Io } from "../io.ts";
import { note, visible } from "../output.ts";
import { ENVIRONMENT_OPTIONS, type EnvironmentOptions, environmentOf, realmOf } from "../realm-scope.ts";
import { environmentFor } from "../run/environment.ts";
import { runProgram } from "../run/program.ts";
import { requireVariables } from "../run/require.ts";
import { readSecrets, type SelectionOptions, selectSecrets } from "../run/secrets.ts";
import { unexpandedName } from "../run/shell.ts";
import { checkVariables, type NamingOptions, type Variable, variablesOf } from "../run/variables.ts";

interface RunOptions extends EnvironmentOptions, SelectionOptions, NamingOptions {
	/** False with --no-masking. */
	readonly masking: boolean;
	readonly require?: string;
}

const DETAILS = `The program gets the environment of svc itself, less what is svc's own (SVC_TOKEN and the like), and a variable for each secret. There is no shell in between. Signals are passed on to it; Ctrl-C reaches it by the terminal.
svc ends with the program's exit code, or with 128 and the number of the signal that ended it. 125 says that svc itself failed, 126 that the program cannot be run, 127 that it is not found.
Values of 6 characters or more are replaced by ***** in what the program writes, also as they stand in JSON, in an address and in Base64. For this its output goes through svc: a program that wants a terminal, such as an editor or a shell, is given it by --no-masking.`;

/** Adds the command that runs a program with the secrets of an environment. */
export function addRunCommand(program: Command, io: Io): void {
	addCommand<RunOptions>(program, io, {
		usage: "run <command...>",
		summary: "run a program with the secrets of an environment as its variables",
		details: DETAILS,
		runsProgram: true,
		options: [
			...ENVIRONMENT_OPTIONS,
			repeatable("--only <key>", "only this secret; may be given several times"),
			repeatable("--except <key>", "without this secret; may be given several times"),
			option("--prefix <text>", "begin the name of each variable with this"),
			option("--map-names", "turn - . and / of keys into _"),
			option("--require <file>", "fail when a variable that this .env file names is missing; its values do not count"),
			option("--no-masking", "leave the program its terminal, and values in its output as they are"),
			option("--allow-reserved", "also set variables such as PATH and NODE_OPTIONS, which decide what runs"),
		],
		examples: [
			"svc run --realm shop --env prod -- ./server --port 8080",
			"svc run --realm shop --only DATABASE_URL -- sh -c 'psql \"$DATABASE_URL\"'",
		],
		run: runWithSecrets,
	});
}

async function runWithSecrets(context: Context<RunOptions>, command = "", ...args: string[]): Promise<number> {
	const { io, options } = context;
	const place = { realm: realmOf(context), environment: environmentOf(context) };
	const secrets = await readSecrets(await connect(context), place);
	const variables = variablesOf(selectSecrets(secrets, place, options), options);
	checkVariables(variables);
	await hintAtShell(context, [command, ...args], variables);
	const env = environmentFor(io, variables);
	if (options.require !== undefined) await requireVariables(options.require, env);
	const masked = options.masking ? variables.map(({ value }) => value) : [];
	return runProgram(io, { command, args, env, masked });
}

async function hintAtShell(context: Context, words: readonly string[], variables: readonly Variable[]): Promise<void> {
	const name = unexpandedName(words, variables);
	if (name !== undefined)
		await note(context, visible(`hint: no shell replaces $${name} here: \`svc run … -- sh -c '… "$${name}"'\` does`));
}
