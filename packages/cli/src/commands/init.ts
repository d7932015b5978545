import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { type Answer, text } from "../client/answer.ts";
import { type Client, send } from "../client/client.ts";
import {
	FIRST_CONTACT,
	findTarget,
	type NewTrustOptions,
	settledClient,
	settleTrust,
	TRUST_NEW,
} from "../client/connection.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { PASSWORD_STDIN, type PasswordOptions, readEmail, readNewPassword } from "../input/password.ts";
import { type Io, isInteractive } from "../io/io.ts";
import { show, visible } from "../io/output.ts";
import { askHidden } from "../io/prompt.ts";
import { saveLogin } from "./login.ts";

interface InitOptions extends PasswordOptions, NewTrustOptions {
	readonly name?: string;
	readonly realm?: string;
	readonly setupCodeFile?: string;
}

/** Adds the command that sets up a new server. */
export function addInitCommand(program: Command, io: Io): void {
	addCommand<InitOptions>(program, io, {
		usage: "init [email]",
		summary: "set up a new server: create its first account, log in, and create a first realm",
		details: `The first account becomes the instance's administrator. Unless everybody may register, the server asks for its setup code, which only the administrator of its machine can read: it is in the file setup-code of the data directory until the account exists.\n${FIRST_CONTACT}`,
		options: [
			option("--realm <slug>", "also create this realm"),
			option("--name <name>", "display name; the e-mail by default"),
			option("--setup-code-file <file>", "take the setup code from this file"),
			PASSWORD_STDIN,
			TRUST_NEW,
		],
		examples: [
			"svc init ada@example.com --realm shop",
			"sudo svc init ada@example.com --setup-code-file /var/lib/svc/setup-code --cacert /var/lib/svc/tls.crt --password-stdin < password",
		],
		run: init,
	});
}

async function init(context: Context<InitOptions>, who?: string): Promise<void> {
	const { name, realm, setupCodeFile } = context.options;
	const email = await readEmail(context, who);
	const setup_code = setupCodeFile === undefined ? undefined : await readCode(setupCodeFile);
	const target = await settleTrust(context, await findTarget(context));
	const password = await readNewPassword(context);
	const client = settledClient(target, undefined);
	const account = await registerFirst(
		context,
		client,
		{ email, password, ...(name === undefined ? {} : { name }) },
		setup_code,
	);
	const login = await send(client, { method: "POST", path: "auth/login", body: { email, password } });
	await saveLogin(context, target, login);
	const lines = [`${visible(text(account, "email"))} is the administrator of ${target.address} and logged in`];
	if (realm !== undefined) {
		const body = { slug: realm, name: realm };
		await send(settledClient(target, text(login, "token")), { method: "POST", path: "realms", body });
		lines.push(`realm ${visible(realm)} created`);
	}
	const next =
		realm === undefined ? "svc realm create shop" : `svc secret set DATABASE_URL --realm ${visible(realm)} --env prod`;
	await show(
		context,
		{ user: account, address: target.address, ...(realm === undefined ? {} : { realm }) },
		[...lines, `next: \`${next}\``].join("\n"),
	);
}

/** Tries without the code first: an open server wants none, and one with accounts says so before anybody looks for the code. */
async function registerFirst(
	context: Context,
	client: Client,
	account: object,
	given: string | undefined,
): Promise<Answer> {
	const register = (setup_code: string) =>
		send(client, { method: "POST", path: "auth/register", body: { ...account, setup_code } });
	try {
		return await register(given ?? "");
	} catch (error) {
		if (!wantsCode(error)) throw error;
		if (given !== undefined) throw refused(WRONG_CODE);
		if (!isInteractive(context.io)) throw refused("this server asks for its setup code");
	}
	const typed = await askHidden(context.io, "Setup code of the server: ");
	return register(typed).catch((error: unknown) => {
		throw wantsCode(error) ? refused(WRONG_CODE) : error;
	});
}

const WRONG_CODE = "the setup code is not the one of this server";

function wantsCode(error: unknown): boolean {
	return error instanceof Failure && error.code === "registration_admin_only";
}

function refused(message: string): Failure {
	return new Failure("denied", message, {
		code: "registration_admin_only",
		hint: "it is in the file setup-code of the server's data directory: --setup-code-file names that file",
	});
}

/** Form of the server's code. Nothing else is sent: an account that may write next to it could have put another of root's files there. */
const SETUP_CODE = /^[\w-]{32}$/;

/** @throws Failure for a file that is not there, because the server removes its own */
function explainMissing(error: NodeJS.ErrnoException): never {
	if (error.code !== "ENOENT") throw error;
	throw new Failure("failed", "the file of --setup-code-file is not there", {
		hint: "the server removes it when the first account exists: then sign in with `svc login`",
	});
}

async function readCode(file: string): Promise<string> {
	const code = (await readFile(file, "utf8").catch(explainMissing)).trim();
	if (SETUP_CODE.test(code)) return code;
	throw new Failure("usage", "the file of --setup-code-file holds no setup code: it is 32 letters, digits, - and _");
}
