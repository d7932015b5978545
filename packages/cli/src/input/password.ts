import type { Option } from "commander";
import { type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { isInteractive } from "../io/io.ts";
import { ask, askHidden, readStdin } from "../io/prompt.ts";
import { decodeUtf8 } from "./value.ts";

/** Options of a command that takes a password. */
export interface PasswordOptions {
	readonly passwordStdin?: boolean;
}

/** The option of `PasswordOptions`. */
export const PASSWORD_STDIN: Option = option(
	"--password-stdin",
	"read the password from the first line of standard input",
);

/** Options of a command that takes a code of a second factor. */
export interface CodeOptions {
	readonly codeStdin?: boolean;
}

/** The option of `CodeOptions`. */
export const CODE_STDIN: Option = option("--code-stdin", "read the code from the first line of standard input");

/** The e-mail given, or else typed at a prompt. @throws Failure usage when nobody can be asked */
export function readEmail(context: Context, given: string | undefined): Promise<string> {
	return readName(context, given, "E-mail");
}

/** The directory user name given, or else typed at a prompt. @throws Failure usage when nobody can be asked */
export function readUsername(context: Context, given: string | undefined): Promise<string> {
	return readName(context, given, "User name");
}

async function readName({ io }: Context, given: string | undefined, what: "E-mail" | "User name"): Promise<string> {
	const name = given ?? (isInteractive(io) ? await ask(io, `${what}: `) : "");
	if (name === "")
		throw new Failure("usage", `no ${what.toLowerCase()} is given`, { hint: "name it after the command" });
	return name;
}

/** An existing password, from the terminal or stdin. */
export async function readPassword(context: Context<PasswordOptions>): Promise<string> {
	return (await readPasswords(context, ["Password"]))[0] ?? "";
}

/** Existing passwords, each asked for on the terminal, or all from stdin, one per line. */
export async function readPasswords(context: Context<PasswordOptions>, names: readonly string[]): Promise<string[]> {
	if (context.options.passwordStdin === true) return names.length === 0 ? [] : readLines(context, names.length);
	const passwords: string[] = [];
	for (const name of names) passwords.push(await askPassword(context, `${name}: `));
	return passwords;
}

/** An existing password and, where stdin has a second line, a code of the second factor. */
export async function readPasswordAndCode(
	context: Context<PasswordOptions>,
): Promise<{ password: string; code?: string }> {
	if (context.options.passwordStdin !== true) return { password: await readPassword(context) };
	const [password = "", code = ""] = await readLines(context, 1, 2);
	return { password, ...(code === "" ? {} : { code }) };
}

/** A code of a second factor, from the terminal or stdin. */
export async function readCode(context: Context<CodeOptions & PasswordOptions>): Promise<string> {
	if (context.options.codeStdin === true) return (await readLines(context, 1, 1, "a code"))[0] ?? "";
	return askPassword(context, `${CODE_NAME}: `, "--code-stdin");
}

/** Name of a code, where a person is asked for it. */
export const CODE_NAME = "Code of your authenticator app, or a recovery code";

/** A new password, asked for twice on a terminal. */
export async function readNewPassword(context: Context<PasswordOptions>): Promise<string> {
	if (context.options.passwordStdin === true) return readPassword(context);
	return askNewPassword(context, "Password (at least 12 characters): ");
}

/** The current and the new password and, where it is asked for, a code of the second factor, as the body of the change. */
export async function readPasswordChange(
	context: Context<PasswordOptions>,
	isCodeAsked: boolean,
): Promise<{ current_password: string; new_password: string; code?: string }> {
	const withCode = (code: string | undefined) => (code === undefined ? {} : { code });
	if (context.options.passwordStdin === true) {
		const [wanted, what] = isCodeAsked ? ([3, "two passwords and a code, one a line"] as const) : ([2] as const);
		const [current_password = "", new_password = "", code] = await readLines(context, wanted, wanted, what);
		return { current_password, new_password, ...withCode(code) };
	}
	const current_password = await askPassword(context, "Current password: ");
	const new_password = await askNewPassword(context, "New password (at least 12 characters): ");
	return { current_password, new_password, ...withCode(isCodeAsked ? await readCode(context) : undefined) };
}

/** A code that somebody was given, and a new password. @param name of the code, as in "Reset code" */
export async function readCodeAndPassword(
	context: Context<PasswordOptions>,
	name: string,
): Promise<{ code: string; password: string }> {
	if (context.options.passwordStdin === true) {
		const [code = "", password = ""] = await readLines(
			context,
			2,
			2,
			`a ${name.toLowerCase()} and a password, one a line`,
		);
		return { code, password };
	}
	const code = await askPassword(context, `${name}: `);
	return { code, password: await askNewPassword(context, "New password (at least 12 characters): ") };
}

/** The code of an invitation, typed at a terminal: standard input may hold a password. */
export function readInvitationCode(context: Context): Promise<string> {
	return askPassword(context, "Invitation code: ");
}

async function askNewPassword(context: Context, question: string): Promise<string> {
	const password = await askPassword(context, question);
	if ((await askPassword(context, "The same again: ")) !== password)
		throw new Failure("usage", "the two passwords differ");
	return password;
}

async function askPassword({ io }: Context, question: string, instead = "--password-stdin"): Promise<string> {
	if (!isInteractive(io)) {
		const what = instead === "--code-stdin" ? "code" : "password";
		throw new Failure("usage", `svc cannot ask for the ${what} without a terminal`, {
			hint: `give it with ${instead}`,
		});
	}
	return askHidden(io, question);
}

/** Reads lines of stdin. @param most more lines than are wanted may follow */
async function readLines({ io }: Context, wanted: number, most = wanted, what?: string): Promise<string[]> {
	const lines = decodeUtf8(await readStdin(io), "standard input")
		.split(/\r?\n/)
		.slice(0, most);
	if (lines.length < wanted || lines.slice(0, wanted).includes("")) {
		const missing = what ?? (wanted === 1 ? undefined : "two passwords, one a line");
		throw new Failure(
			"usage",
			missing === undefined ? "standard input holds no password" : `standard input must hold ${missing}`,
		);
	}
	return lines;
}
