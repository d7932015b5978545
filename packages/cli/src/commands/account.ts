import type { Command } from "commander";
import { type Answer, object, rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { needsCode } from "../client/factors.ts";
import { addCommand, addGroup, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import { CODE_NAME, type PasswordOptions, readCode, readPasswords, readUsername } from "../input/password.ts";
import { type Io, isInteractive } from "../io/io.ts";
import { show, showTable, visible } from "../io/output.ts";
import { confirm } from "../io/prompt.ts";
import { ids, instants } from "../io/table.ts";
import { BROWSER_HELP, type BrowserOptions, findProvider, NO_BROWSER, proveInBrowser } from "../login/sso.ts";

interface LinkOptions extends PasswordOptions, BrowserOptions {
	readonly yes?: boolean;
}

/** Adds the commands of your own account, except logging in. */
export function addAccountCommands(program: Command, io: Io): void {
	const account = addGroup(program, "account", "who else can sign in to your account");
	addCommand<LinkOptions>(account, io, {
		usage: "link <provider> [username]",
		summary: "link your identity at a provider with your account",
		details: `Log in to the account with \`svc login\` first, then prove who you are at the provider: with a browser, or with the user name and password of a directory. From then on that identity signs in to this account, so svc also asks for the account's password and, where it has a second factor, for a code; an account without one needs a login within the last 5 minutes at a provider that it is linked with, which must have asked who you are (\`svc login --sso PROVIDER --again\`).\n${BROWSER_HELP}`,
		options: [
			PASSWORDS_STDIN,
			NO_BROWSER,
			option("--yes", "do not ask whether the browser signed in as the right person"),
		],
		examples: ["svc account link corp", "svc account link directory ada"],
		run: linkIdentity,
	});
	addCommand(account, io, {
		usage: "identities",
		summary: "list the identities that can sign in to your account",
		examples: ["svc account identities", "svc account identities --json"],
		isList: true,
		run: listIdentities,
	});
	addCommand<PasswordOptions>(account, io, {
		usage: "unlink <id>",
		summary: "remove the link between an identity and your account",
		details: `\`svc account identities\` shows the ids. svc asks for the account's password and, where it has a second factor, for a code; an account without a password needs a login within the last 5 minutes, at a provider that asked who you are (\`svc login --sso PROVIDER --again\`). You cannot remove the last way to sign in.`,
		options: [PROOF_STDIN],
		examples: ["svc account unlink 0198c0de-0000-7000-8000-000000000001"],
		run: unlinkIdentity,
	});
}

const PASSWORDS_STDIN = option(
	"--password-stdin",
	"read the passwords from standard input, one per line: the directory's, then the account's, then a code of its second factor where it has one",
);

/** The option of commands that ask for the proof of an account's owner. */
export const PROOF_STDIN = option(
	"--password-stdin",
	"read the password from the first line of standard input and, if you have a second factor, a code from the second",
);

const OWN = "Password of your account";

/** Reads what a change to the ways to sign in asks for: the password, and a code when there is a factor. */
export async function readProof(context: Context<PasswordOptions>, client: Client): Promise<object> {
	const [current_password, code] = await readPasswords(context, [
		OWN,
		...((await needsCode(client)) ? [CODE_NAME] : []),
	]);
	return { current_password, ...(code === undefined ? {} : { code }) };
}

async function listIdentities(context: Context): Promise<void> {
	const client = await connect(context);
	requireSession(client, "has no account of its own");
	const answer = await askIdentities(client);
	const lines = rows(answer, "identities").map((identity) => [
		text(identity, "id"),
		text(identity, "provider"),
		text(identity, "subject"),
		text(identity, "created_at"),
	]);
	await showTable(context, answer, [ids("ID"), "PROVIDER", "WHO", instants("LINKED")], lines, "nobody");
}

async function unlinkIdentity(context: Context<PasswordOptions>, id: string): Promise<void> {
	const client = await connect(context);
	requireSession(client, "cannot unlink an identity");
	const body = hasPassword(await askIdentities(client)) ? await readProof(context, client) : {};
	const answer = await send(client, { method: "DELETE", path: path`auth/identities/${id}`, body });
	await show(context, answer, visible(text(answer, "message")));
}

const askIdentities = (client: Client) => send(client, { method: "GET", path: "auth/identities" });

const hasPassword = ({ has_password }: Answer): boolean => has_password === true;

async function linkIdentity(context: Context<LinkOptions>, provider: string, username?: string): Promise<void> {
	const client = await connect(context);
	requireSession(client, "cannot link an identity");
	const call = await prove(context, client, provider, username);
	const answer = await send(client, { method: "POST", ...call });
	await show(context, answer, visible(text(answer, "message")));
}

/** Shows who signed in: on a machine with several people, another person's browser may have been quicker. */
async function confirmIdentity(context: Context<LinkOptions>, client: Client, proof: object): Promise<object> {
	const { io, options } = context;
	const identity = object(await send(client, { method: "POST", path: "auth/sso/link", body: proof }), "identity");
	const who = visible([text(identity, "name"), text(identity, "email")].filter((part) => part !== "").join(", "));
	if (options.yes !== true) {
		if (!isInteractive(io))
			throw new Failure("usage", `the browser signed in as ${who}: --yes links it without asking`);
		if (!(await confirm(io, `The browser signed in as ${who}. Link this identity with your account?`)))
			throw new Failure("failed", "nothing was linked");
	}
	return { ...proof, confirm: true };
}

/** Requires a session. The server refuses this, too, but only after the person has typed a password or signed in at a provider. */
export function requireSession({ token }: Client, cannot: string): void {
	if (token?.startsWith("svc_") !== true) return;
	throw new Failure("failed", `your token is an API token, which ${cannot}`, {
		code: "unsupported_operation",
		hint: "`svc login`; unset SVC_TOKEN, SVC_TOKEN_FILE and SVC_MACHINE where they are set",
	});
}

async function prove(context: Context<LinkOptions>, client: Client, provider: string, given: string | undefined) {
	const type = await findProvider(client, provider);
	if (type !== "ldap" && given !== undefined)
		throw new Failure("usage", "this provider takes no user name here: it asks for it in the browser");
	const own = hasPassword(await askIdentities(client)) ? [OWN] : [];
	const isAsked = own.length > 0 && (await needsCode(client));
	if (type === "ldap") {
		const username = await readUsername(context, given);
		const names = ["Password", ...own, ...(isAsked ? [CODE_NAME] : [])];
		const [password, current_password, code] = await readPasswords(context, names);
		return { path: path`auth/ldap/${provider}/link`, body: { username, password, current_password, code } };
	}
	// A code typed before the browser's sign-in would have ended after it.
	const isTyped = isAsked && context.options.passwordStdin !== true;
	const [current_password, given_code] = await readPasswords(context, isAsked && !isTyped ? [...own, CODE_NAME] : own);
	const proof = await proveInBrowser(context, client, type, provider);
	const confirmed = await confirmIdentity(context, client, proof);
	const factor_code = isTyped ? await readCode(context) : given_code;
	return { path: "auth/sso/link", body: { ...confirmed, current_password, factor_code } };
}
