import type { Command } from "commander";
import { count, text } from "../client/answer.ts";
import { path, send } from "../client/client.ts";
import {
	connect,
	FIRST_CONTACT,
	findTarget,
	type NewTrustOptions,
	settledClient,
	settleTrust,
	TRUST_NEW,
} from "../client/connection.ts";
import { findUser } from "../client/find-user.ts";
import { addCommand, type CommandSpec, type Context, option } from "../command-line/command.ts";
import { type PasswordOptions, readCodeAndPassword, readEmail } from "../input/password.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { confirmUnless } from "../io/prompt.ts";

/** Adds the command that sets a new password with a code. */
export function addResetCommand(program: Command, io: Io): void {
	addCommand<PasswordOptions & NewTrustOptions>(program, io, {
		usage: "reset [email]",
		summary: "set a new password with a reset code, which ends all your sessions",
		details: `The instance admin makes the code with \`svc users reset\`. It works once, within 24 hours. svc asks for the code and for the new password. A second factor stays: the next login asks for its code, too.\n${FIRST_CONTACT}`,
		options: [
			option("--password-stdin", "take the code and the new password from two lines of standard input"),
			TRUST_NEW,
		],
		examples: ["svc reset ada@example.com", "svc reset ada@example.com --password-stdin < code-and-password"],
		run: reset,
	});
}

async function reset(context: Context<PasswordOptions & NewTrustOptions>, who?: string): Promise<void> {
	const email = await readEmail(context, who);
	const target = await settleTrust(context, await findTarget(context));
	const { code, password } = await readCodeAndPassword(context, "Reset code");
	const body = { email, code, new_password: password };
	const answer = await send(settledClient(target, undefined), { method: "POST", path: "auth/reset", body });
	await show(context, answer, "password changed; all your sessions have ended");
	await note(context, "next: `svc login`; your API tokens still work: `svc token list`");
}

/** `svc users reset`: makes a code for somebody who has forgotten the password. */
export const USERS_RESET: CommandSpec<object> = {
	usage: "reset <user>",
	summary: "make a code with which a user who has forgotten the password sets a new one",
	details:
		"Only for the instance's administrators, and with a session, not an API token. A user is named by id or e-mail. The code is shown once, works once, within 24 hours, and ends an earlier one. It does not replace a second factor: for somebody who lost theirs, run `svc users drop-second-factor`. Pass it on in person or by a channel that only this user reads: anybody who has it becomes this user. The audit log of the user's realms records its use.",
	examples: ["svc users reset ada@example.com"],
	run: resetUser,
};

interface DropOptions {
	readonly yes?: boolean;
}

/** `svc users drop-second-factor`: ends the second factors that somebody lost. */
export const USERS_DROP_SECOND_FACTOR: CommandSpec<DropOptions> = {
	usage: "drop-second-factor <user>",
	summary: "end the second factors and recovery codes of somebody who lost them, and all their sessions",
	details:
		"Only for the instance's administrators, with a session, not an API token, and not for your own account. A user is named by id or e-mail. The password stays and is enough to sign in, so make sure that you talk to its owner; if somebody else may know it, run `svc users reset`, too. The audit log of the user's realms records it.",
	options: [option("--yes", "do not ask")],
	examples: ["svc users drop-second-factor ada@example.com"],
	run: dropSecondFactor,
};

async function dropSecondFactor(context: Context<DropOptions>, name: string): Promise<void> {
	const client = await connect(context);
	const user = await findUser(client, name);
	const email = visible(text(user, "email"));
	const words = { doing: "ending somebody's second factors", done: "ended" };
	await confirmUnless(context, `End the second factors, recovery codes and sessions of ${email}?`, words);
	const answer = await send(client, { method: "DELETE", path: path`users/${text(user, "id")}/factors` });
	const [factors, sessions] = [count(answer, "factors_dropped"), count(answer, "sessions_ended")];
	await show(context, answer, `second factors ended: ${factors}; sessions ended: ${sessions}`);
	await note(context, `next: ${email} signs in with the password alone, and adds a new one with \`svc factor add\``);
}

async function resetUser(context: Context, name: string): Promise<void> {
	const client = await connect(context);
	const user = await findUser(client, name);
	const email = text(user, "email");
	const answer = await send(client, { method: "POST", path: path`users/${text(user, "id")}/reset` });
	await show(context, answer, visible(text(answer, "code")));
	await note(
		context,
		`valid until ${text(answer, "expires_at")}, once: with it, \`svc reset ${visible(email)}\` sets a password`,
	);
}
