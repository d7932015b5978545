import type { Command } from "commander";
import { object, text } from "../answer.ts";
import { type Client, path, send } from "../client.ts";
import { addCommand, addGroup, type Context, option } from "../command.ts";
import { connect } from "../connection.ts";
import { Failure } from "../failure.ts";
import { type Io, isInteractive } from "../io.ts";
import { show, visible } from "../output.ts";
import { PASSWORD_STDIN, type PasswordOptions, readPassword, readUsername } from "../password.ts";
import { confirm } from "../prompt.ts";
import { BROWSER_HELP, type BrowserOptions, findProvider, NO_BROWSER, proveInBrowser } from "../sso.ts";

interface LinkOptions extends PasswordOptions, BrowserOptions {
	readonly yes?: boolean;
}

/** Adds the commands of one's own account beside logging in. */
export function addAccountCommands(program: Command, io: Io): void {
	const account = addGroup(program, "account", "who else can sign in to your account");
	addCommand<LinkOptions>(account, io, {
		usage: "link <provider> [username]",
		summary: "let your identity at a provider sign in to your account",
		details: `You are logged in to the account already, with \`svc login\`, and show here who you are at the provider: with a browser, or with the user name and password of a directory. From then on that identity signs in to this account.\n${BROWSER_HELP}`,
		options: [
			PASSWORD_STDIN,
			NO_BROWSER,
			option("--yes", "do not ask whether the browser signed in as the right person"),
		],
		examples: ["svc account link corp", "svc account link directory ada"],
		run: linkIdentity,
	});
}

async function linkIdentity(context: Context<LinkOptions>, provider: string, username?: string): Promise<void> {
	const client = await connect(context);
	requireSession(client);
	const call = await prove(context, client, provider, username);
	const answer = await send(client, { method: "POST", ...call });
	await show(context, answer, visible(text(answer, "message")));
}

/** Shows who signed in: on a machine with several people, another one's browser may have been quicker. */
async function confirmIdentity(context: Context<LinkOptions>, client: Client, proof: object): Promise<object> {
	const { io, options } = context;
	const identity = object(await send(client, { method: "POST", path: "auth/sso/link", body: proof }), "identity");
	const who = visible([text(identity, "name"), text(identity, "email")].filter((part) => part !== "").join(", "));
	if (options.yes !== true) {
		if (!isInteractive(io)) throw new Failure("usage", `the browser signed in as ${who}: --yes links whoever it is`);
		if (!(await confirm(io, `The browser signed in as ${who}. Link this identity with your account?`)))
			throw new Failure("failed", "nothing was linked");
	}
	return { ...proof, confirm: true };
}

/** The server would say so, too, but only after the person has signed in at the provider. */
function requireSession({ token }: Client): void {
	if (token?.startsWith("svc_") !== true) return;
	throw new Failure("failed", "SVC_TOKEN holds an API token, which cannot link an identity", {
		code: "unsupported_operation",
		hint: "unset it, then `svc login`",
	});
}

async function prove(context: Context<LinkOptions>, client: Client, provider: string, given: string | undefined) {
	const type = await findProvider(client, provider);
	if (type === "ldap") {
		const username = await readUsername(context, given);
		return { path: path`auth/ldap/${provider}/link`, body: { username, password: await readPassword(context) } };
	}
	if (given !== undefined || context.options.passwordStdin === true)
		throw new Failure("usage", "this provider takes no name and no password here: it asks for them in a browser");
	const proof = await proveInBrowser(context, client, type, provider);
	return { path: "auth/sso/link", body: await confirmIdentity(context, client, proof) };
}
