import { Command, CommanderError, type Option } from "commander";
import manifest from "../package.json" with { type: "json" };
import { Refusal } from "./client/failures.ts";
import { nameMissing } from "./client/missing.ts";
import { addLocalCommands, addSharedOptions, ENDED, type LocalCommand } from "./command-line/command.ts";
import { epilogue } from "./command-line/epilogue.ts";
import { explainUsage } from "./command-line/usage.ts";
import { addAccountCommands } from "./commands/account.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addAuthCommands } from "./commands/auth.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addBindingCommands } from "./commands/binding.ts";
import { addCompletionCommands } from "./commands/completion.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addEncryptCommand } from "./commands/encrypt.ts";
import { addEngineCommands } from "./commands/engine.ts";
import { addEsoCommands } from "./commands/eso.ts";
import { addExpiringCommand } from "./commands/expiring.ts";
import { addExportCommand } from "./commands/export.ts";
import { addFactorCommands } from "./commands/factor.ts";
import { addHealthCommand } from "./commands/health.ts";
import { addHelpCommand } from "./commands/help.ts";
import { addImportCommand } from "./commands/import.ts";
import { addInitCommand } from "./commands/init.ts";
import { addInvitationCommands } from "./commands/invitation.ts";
import { addKubernetesCommand } from "./commands/k8s.ts";
import { addKeysCommands } from "./commands/keys.ts";
import { addLeaseCommands } from "./commands/lease.ts";
import { addMachineCommands } from "./commands/machine.ts";
import { addNodesCommands } from "./commands/nodes.ts";
import { addPolicyCommands } from "./commands/policy.ts";
import { addPromotionCommands } from "./commands/promote.ts";
import { addRealmCommands } from "./commands/realm.ts";
import { addResetCommand } from "./commands/reset.ts";
import { addRevokeCommand } from "./commands/revoke.ts";
import { addRunCommand } from "./commands/run.ts";
import { addSecretCommands, addShortForms } from "./commands/secret.ts";
import { addSessionCommands } from "./commands/session.ts";
import { addSsoCommands } from "./commands/sso.ts";
import { addTokenCommands } from "./commands/token.ts";
import { addUsersCommands } from "./commands/users.ts";
import { EXIT, Failure } from "./failure.ts";
import { type Io, write } from "./io/io.ts";
import { toJson, visible } from "./io/output.ts";

export type { Io } from "./io/io.ts";

/**
 * Runs one command of the command line client.
 * @param argv the words after the program's name
 * @param local commands that work on this machine; the client itself has none
 * @returns the exit code of the process: 0 done, 1 failed, 2 usage, 3 not logged in or not allowed, 4 not found, 5 server
 * unreachable or in trouble, 130 interrupted; of `svc run` and `svc k8s` the program's own, or 125 to 127
 */
export async function runCli(argv: readonly string[], io: Io, local: readonly LocalCommand[] = []): Promise<number> {
	const help: string[] = [];
	const program = buildProgram(io, local, (text) => help.push(text));
	try {
		await program.parseAsync(argv, { from: "user" });
		return EXIT.done;
	} catch (error) {
		if (error instanceof CommanderError && error.code === ENDED) return error.exitCode;
		const code = await finish(argv, io, program, help.join(""), error);
		return RUNS_PROGRAM.has(program.args[0] ?? "") && code !== EXIT.done ? Math.max(code, EXIT.notRun) : code;
	}
}

/** Commands whose own failures must not look like their program's. Spec of the codes: env(1). */
export const RUNS_PROGRAM: ReadonlySet<string> = new Set(["run", "k8s"]);

/**
 * The tree of all commands, with their help.
 * @param local commands that work on this machine
 * @param keep receives each help text
 */
export function buildProgram(io: Io, local: readonly LocalCommand[], keep: (text: string) => void): Command {
	const program = new Command("svc")
		.description("secrets of realms, per environment, kept by an svc server")
		.version(manifest.version, "-V, --version", "show the version of this client")
		// Makes `--version` after `secret get` an option of that command.
		.enablePositionalOptions()
		.exitOverride()
		.configureHelp({ subcommandTerm, optionDescription })
		.configureOutput({
			writeOut: keep,
			writeErr: keep,
			outputError: () => {},
			getOutHelpWidth: () => io.stdout.columns ?? 80,
			getErrHelpWidth: () => io.stderr.columns ?? 80,
			getOutHasColors: () => false,
			getErrHasColors: () => false,
		});
	addSharedOptions(program);
	addEverydayCommands(program, io);
	addAdministration(program, io);
	program.commandsGroup("This machine:");
	addLocalCommands(program, io, local);
	addCompletionCommands(program, io);
	addHelpCommand(program);
	return program.addHelpText("after", epilogue());
}

function addEverydayCommands(program: Command, io: Io): void {
	program.commandsGroup("Your account:");
	addInitCommand(program, io);
	addAuthCommands(program, io);
	addResetCommand(program, io);
	addFactorCommands(program, io);
	addAccountCommands(program, io);
	addSessionCommands(program, io);
	addTokenCommands(program, io);
	program.commandsGroup("Realms and secrets:");
	addRealmCommands(program, io);
	addSecretCommands(program, io);
	addShortForms(program, io);
	addRunCommand(program, io);
	addImportCommand(program, io);
	addExportCommand(program, io);
	addPromotionCommands(program, io);
	addEncryptCommand(program, io);
	addBindingCommands(program, io);
	addInvitationCommands(program, io);
	addPolicyCommands(program, io);
	addMachineCommands(program, io);
	program.commandsGroup("Credentials that end by themselves:");
	addEngineCommands(program, io);
	addLeaseCommands(program, io);
	addKubernetesCommand(program, io);
	addEsoCommands(program, io);
}

function addAdministration(program: Command, io: Io): void {
	program.commandsGroup("Looking after the server:");
	addHealthCommand(program, io);
	addDoctorCommand(program, io);
	addNodesCommands(program, io);
	addExpiringCommand(program, io);
	addAuditCommands(program, io);
	addUsersCommands(program, io);
	addRevokeCommand(program, io);
	addSsoCommands(program, io);
	addBackupCommands(program, io);
	addKeysCommands(program, io);
}

/** A command in a list of commands: its name and arguments. */
function subcommandTerm(command: Command): string {
	const words = command.registeredArguments.map((argument) =>
		argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
	);
	return [command.name(), ...words].join(" ");
}

/** Appends fixed values and a default that the description does not mention. */
function optionDescription({ description, argChoices = [], defaultValue }: Option): string {
	const values = argChoices.every((value) => description.includes(value)) ? "" : `: ${argChoices.join(", ")}`;
	const usual = typeof defaultValue === "string" ? `; ${defaultValue} by default` : "";
	return description + values + usual;
}

async function finish(
	argv: readonly string[],
	io: Io,
	program: Command,
	help: string,
	error: unknown,
): Promise<number> {
	if (!(error instanceof CommanderError)) return tellFailure(argv, io, program, error);
	try {
		if (error.exitCode === 0) {
			await write(io.stdout, help);
			return EXIT.done;
		}
		// A group without a command: its help is the answer.
		if (error.code === "commander.help") {
			await write(io.stderr, help);
			return EXIT.usage;
		}
	} catch (unwritten) {
		return tellFailure(argv, io, program, unwritten);
	}
	return tellFailure(argv, io, program, error);
}

async function tellFailure(argv: readonly string[], io: Io, program: Command, error: unknown): Promise<number> {
	const failure = failureOf(error, program, argv);
	const text = argv.includes("--json") ? `${toJson(failure)}\n` : describe(await inWords(failure));
	// If this fails, too, only the exit code is left.
	await write(io.stderr, text).catch(() => undefined);
	return failure.exitCode;
}

/** Names for a person what was not found; programs get the server's own error object. */
async function inWords(failure: Failure): Promise<Failure> {
	return failure instanceof Refusal ? await nameMissing(failure) : failure;
}

function describe({ message, hint }: Failure): string {
	return `svc: ${visible(message)}\n${hint === undefined ? "" : `hint: ${visible(hint)}\n`}`;
}

/** Turns `ENOENT: no such file or directory, open 'a'` into `cannot open a: no such file or directory`. */
function inPlainWords(message: string): string {
	return message.replace(/^E[A-Z]+: ([^,]+), (\w+) '([^']+)'$/, "cannot $2 $3: $1");
}

function failureOf(error: unknown, program: Command, argv: readonly string[]): Failure {
	if (error instanceof Failure) return error;
	if (error instanceof CommanderError) return explainUsage(error, program, argv);
	// The system's own errors name a call, a path and a cause; any other message may contain anything.
	if (error instanceof Error && "syscall" in error)
		return new Failure("failed", inPlainWords(error.message), { cause: error });
	const place = error instanceof Error ? (error.stack?.split("\n").find((line) => line.includes("    at ")) ?? "") : "";
	return new Failure("failed", `unexpected ${error instanceof Error ? error.name : "error"} ${place.trim()}`, {
		cause: error,
	});
}
