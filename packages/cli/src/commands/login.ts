import type { Command } from "commander";
import { type Answer, object, text } from "../client/answer.ts";
import { type Call, type Client, path, send } from "../client/client.ts";
import {
	FIRST_CONTACT,
	findTarget,
	type NewTrustOptions,
	settledClient,
	settleTrust,
	type Target,
	TRUST_NEW,
} from "../client/connection.ts";
import { findGivenToken } from "../client/given-token.ts";
import { parseMachine } from "../client/machine/machine-name.ts";
import { audienceFor, signInAsMachine } from "../client/machine/machine-tokens.ts";
import { saveServer } from "../client/session.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import {
	type PasswordOptions,
	readCode,
	readEmail,
	readInvitationCode,
	readPassword,
	readPasswordAndCode,
	readUsername,
} from "../input/password.ts";
import { type Io, setting } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { BROWSER_HELP, type BrowserOptions, findProvider, NO_BROWSER, proveInBrowser } from "../login/sso.ts";

interface LoginOptions extends PasswordOptions, NewTrustOptions, BrowserOptions {
	/** Name of a provider with sign-in in a browser. */
	readonly sso?: string;
	/** Whether the provider must ask again who signs in. */
	readonly again?: boolean;
	/** Name of a directory provider. */
	readonly ldap?: string;
	/** Machine, as `realm/name`. */
	readonly machine?: string;
	/** Code of an invitation; - asks for it. */
	readonly invite?: string;
}

const MACHINE_HELP =
	"With --machine, svc exchanges a JWT for a token of the machine: from the file of SVC_JWT_FILE or /var/run/secrets/svc/token, from GitHub Actions, or from SVC_ID_TOKEN. With SVC_MACHINE set, every command does so automatically and needs no login.";

/** Adds the command that logs in. */
export function addLoginCommand(program: Command, io: Io): void {
	addCommand<LoginOptions>(program, io, {
		usage: "login [email|username]",
		summary: "log in and remember the session",
		details: `With the e-mail and password of an account, or by single sign-on: --sso with a browser, --ldap with the user name and password of a directory. \`svc sso list\` shows the providers. Where the account has a second factor (\`svc factor add\`), svc asks for a code, too.\n${BROWSER_HELP}\n${MACHINE_HELP}\n${FIRST_CONTACT}`,
		options: [
			option("--sso <provider>", "sign in at this provider, with a browser"),
			option("--again", "with --sso, have the provider ask who you are, though it knows your browser").conflicts([
				"ldap",
				"machine",
			]),
			option("--ldap <provider>", "sign in at this directory"),
			option("--machine <realm/name>", "work as this machine, for a JWT of its own").conflicts(["sso", "ldap"]),
			option("--invite <code>", "at the first sign-in with --sso or --ldap, the code of an invitation; - asks for it"),
			option(
				"--password-stdin",
				"read the password from the first line of standard input, and a code of the second factor from the second",
			),
			NO_BROWSER,
			TRUST_NEW,
		],
		examples: [
			"svc login ada@example.com",
			"svc login ada@example.com --address https://vault.example.com:8443",
			"svc login --sso corp",
			"svc login --ldap directory ada",
			"svc login --machine shop/deploy",
		],
		run: login,
	});
}

async function login(context: Context<LoginOptions>, who?: string): Promise<void> {
	if (context.options.machine !== undefined) return loginAsMachine(context, context.options.machine, who);
	const prove = await prepare(context, who);
	const target = await settleTrust(context, await findTarget(context));
	const client = settledClient(target, undefined);
	const answer = await sendLogin(context, client, await prove(client));
	await remember(context, target, answer);
}

/** Sends a login, and once more with the code that the account's second factor needs. */
async function sendLogin(
	context: Context<LoginOptions>,
	client: Client,
	call: Pick<Call, "path" | "body">,
): Promise<Answer> {
	try {
		return await send(client, { method: "POST", ...call });
	} catch (error) {
		if (!(error instanceof Failure) || error.code !== "second_factor_required") throw error;
		const { code } = error;
		if (context.options.passwordStdin === true)
			throw new Failure("denied", "the account has a second factor", {
				...{ code, status: error.status },
				hint: "give its code in a second line of standard input, or use an API token",
			});
		return send(client, { method: "POST", path: call.path, body: { ...call.body, code: await readCode(context) } });
	}
}

async function loginAsMachine(context: Context<LoginOptions>, name: string, who: string | undefined): Promise<void> {
	const { io, options } = context;
	if (who !== undefined || options.passwordStdin === true)
		throw new Failure("usage", "--machine takes no name and no password: the machine has a JWT");
	const machine = parseMachine(name, "--machine");
	const target = await settleTrust(context, await findTarget(context));
	const login = { machine, isSaved: true, kept: undefined };
	const { source, expires_at } = await signInAsMachine(io, settledClient(target, undefined), login);
	const saved = (await findTarget(context)).saved;
	const { token: _token, user: _user, expires_at: _expiry, ...kept } = saved;
	await saveServer(io, target.address, { ...kept, machine: name });
	const end = new Date(expires_at * 1000).toISOString();
	const result = {
		address: target.address,
		machine: name,
		source,
		audience: audienceFor(io, target.address),
		expires_at,
	};
	await show(
		context,
		result,
		visible(`logged in to ${target.address} as machine ${name}, with a JWT of ${source}, until ${end}`),
	);
	await noteGivenToken(context);
}

/** Prepares the call that logs in, for a trusted server. @throws Failure usage before anybody is asked or reached */
async function prepare(
	context: Context<LoginOptions>,
	who: string | undefined,
): Promise<(client: Client) => Promise<Pick<Call, "path" | "body">>> {
	const { sso, ldap, again, invite, passwordStdin } = context.options;
	if (again === true && sso === undefined) throw new Failure("usage", "--again is for a sign-in with --sso");
	if (invite !== undefined && sso === undefined && ldap === undefined)
		throw new Failure("usage", "--invite is for the first sign-in with --sso or --ldap", {
			hint: "`svc register` takes it for an account with a password",
		});
	if (sso !== undefined) {
		if (ldap !== undefined) throw new Failure("usage", "give either --sso or --ldap");
		if (who !== undefined || passwordStdin === true)
			throw new Failure("usage", "--sso takes no name and no password: the identity provider asks for them");
		return (client) => proveAtProvider(context, client, sso);
	}
	if (ldap !== undefined) {
		const username = await readUsername(context, who);
		return (client) => proveAtDirectory(context, client, ldap, username);
	}
	const email = await readEmail(context, who);
	return async () => ({ path: "auth/login", body: { email, ...(await readPasswordAndCode(context)) } });
}

async function proveAtProvider(context: Context<LoginOptions>, client: Client, name: string) {
	const type = await findProvider(client, name);
	if (type === "ldap")
		throw new Failure("usage", "the provider is a directory, which needs no browser", {
			hint: "`svc login --ldap` with its name",
		});
	const invited = await readInvitation(context);
	const proof = await proveInBrowser(context, client, type, name, context.options.again);
	return { path: "auth/sso/token", body: { ...proof, ...invited } };
}

/** Checks the provider's kind first, so that nobody types a password in vain. */
async function proveAtDirectory(context: Context<LoginOptions>, client: Client, name: string, username: string) {
	if ((await findProvider(client, name)) !== "ldap")
		throw new Failure("usage", "the provider is not a directory: it needs a browser", {
			hint: "`svc login --sso` with its name",
		});
	const invited = await readInvitation(context);
	const password = await readPassword(context);
	return { path: path`auth/ldap/${name}/login`, body: { username, password, ...invited } };
}

/** The code of an invitation, if one is given. */
async function readInvitation(context: Context<LoginOptions>): Promise<{ invitation?: string }> {
	const { invite } = context.options;
	if (invite === undefined) return {};
	return { invitation: invite === "-" ? await readInvitationCode(context) : invite };
}

async function remember(context: Context<LoginOptions>, target: Target, answer: Answer): Promise<void> {
	const { token: _, ...shown } = answer;
	const { email } = await saveLogin(context, target, answer);
	await show(context, shown, `logged in to ${target.address} as ${visible(email)}`);
	await noteGivenToken(context);
}

async function noteGivenToken(context: Context<LoginOptions>): Promise<void> {
	const given = await findGivenToken(context.io);
	const machine = setting(context.io, "SVC_MACHINE");
	const isOther = machine !== undefined && machine !== context.options.machine;
	const source = given?.source ?? (isOther ? "SVC_MACHINE" : undefined);
	if (source !== undefined) await note(context, `note: the token of ${source} is used instead of this session`);
}

/** Saves the session from the answer to a login. Returns its user. */
export async function saveLogin({ io }: Context, { address, saved: { machine: _, ...saved } }: Target, answer: Answer) {
	const account = object(answer, "user");
	const user = { id: text(account, "id"), email: text(account, "email"), name: text(account, "name") };
	await saveServer(io, address, {
		...saved,
		token: text(answer, "token"),
		user,
		...(typeof answer.expires_at === "number" ? { expires_at: answer.expires_at } : {}),
	});
	return user;
}
