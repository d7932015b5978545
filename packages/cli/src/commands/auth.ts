import type { Command } from "commander";
import { type Answer, optional, rows, text } from "../client/answer.ts";
import { send } from "../client/client.ts";
import {
	checkServer,
	connect,
	connectTo,
	FIRST_CONTACT,
	findTarget,
	type NewTrustOptions,
	settledClient,
	settleTrust,
	type Target,
	TRUST_NEW,
} from "../client/connection.ts";
import { findCredential } from "../client/credential.ts";
import { needsCode } from "../client/factors.ts";
import { findGivenToken } from "../client/given-token.ts";
import { type SavedServer, saveServer } from "../client/session.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import {
	PASSWORD_STDIN,
	type PasswordOptions,
	readCodeAndPassword,
	readEmail,
	readNewPassword,
	readPasswordChange,
} from "../input/password.ts";
import type { Io } from "../io/io.ts";
import { note, show, showFields, visible } from "../io/output.ts";
import { removeCachedSecrets } from "../run/offline-cache.ts";
import { requireSession } from "./account.ts";
import { addLoginCommand } from "./login.ts";

interface RegisterOptions extends PasswordOptions, NewTrustOptions {
	readonly name?: string;
	readonly invite?: string;
}

/** Adds the commands of your own account. */
export function addAuthCommands(program: Command, io: Io): void {
	addCommand<RegisterOptions>(program, io, {
		usage: "register [email]",
		summary: "create an account",
		details: `With \`--invite -\`, svc asks for the code of your invitation and then for a password; with --password-stdin, it takes both from two lines of standard input.\n${FIRST_CONTACT}`,
		options: [
			option("--name <name>", "display name; the e-mail by default"),
			option("--invite <code>", "the code of an invitation; - asks for it"),
			PASSWORD_STDIN,
			TRUST_NEW,
		],
		examples: [
			"svc register ada@example.com",
			"svc register ada@example.com --invite -",
			"svc register ci@example.com --password-stdin --fingerprint AB:CD:… < password",
		],
		run: register,
	});
	addLoginCommand(program, io);
	addCommand(program, io, {
		usage: "logout",
		summary: "end the session, here and at the server",
		examples: ["svc logout"],
		run: logout,
	});
	addCommand<PasswordOptions>(program, io, {
		usage: "password",
		summary: "change your password, which ends your other sessions",
		details: "Where the account has a second factor, svc asks for a code, too.",
		options: [
			option(
				"--password-stdin",
				"take the current and the new password from two lines of standard input and, where the account has a second factor, a code from a third",
			),
		],
		examples: ["svc password"],
		run: changePassword,
	});
	addCommand(program, io, {
		usage: "whoami",
		summary: "ask the server who you are, where, until when, and how far your token reaches",
		examples: ["svc whoami", "svc whoami --json"],
		run: whoami,
	});
}

async function register(context: Context<RegisterOptions>, email?: string): Promise<void> {
	const { name } = context.options;
	const mail = await readEmail(context, email);
	const target = await settleTrust(context, await findTarget(context));
	const body = { email: mail, ...(await readProof(context)), ...(name === undefined ? {} : { name }) };
	// The login that follows goes to the same server.
	await saveServer(context.io, target.address, target.saved);
	const account = await sendRegistration(context, target, body);
	await show(context, account, `registered ${visible(text(account, "email"))}`);
	for (const left_out of account.left_out === undefined ? [] : rows(account, "left_out")) {
		const role = `${visible(text(left_out, "role"))} in ${visible(text(left_out, "realm"))}`;
		await note(
			context,
			`not given: ${role}, because the person who invited you may no longer give it; ask an admin of the realm`,
		);
	}
	const next =
		target.saved.token === undefined
			? "next: `svc login`"
			: "next: they log in with this password, and `svc password` replaces it with one that only they know";
	await note(context, next);
}

/** The new password and, with an invitation, its code. */
async function readProof(context: Context<RegisterOptions>): Promise<{ password: string; invitation?: string }> {
	const { invite } = context.options;
	if (invite === undefined) return { password: await readNewPassword(context) };
	if (invite !== "-") return { password: await readNewPassword(context), invitation: invite };
	const { code, password } = await readCodeAndPassword(context, "Invitation code");
	return { password, invitation: code };
}

/** Where only administrators may register accounts, asks again with the token of the logged-in user. */
async function sendRegistration(context: Context, target: Target, body: object): Promise<Answer> {
	const token = (await findGivenToken(context.io))?.token ?? target.saved.token;
	const call = { method: "POST", path: "auth/register", body } as const;
	try {
		return await send(settledClient(target, undefined), call);
	} catch (error) {
		if (!(error instanceof Failure) || error.code !== "registration_admin_only" || token === undefined) throw error;
		return send(settledClient(target, token), call);
	}
}

async function logout(context: Context): Promise<void> {
	const { address, saved } = await findTarget(context);
	const { token, user: _user, expires_at: _expiry, machine, machines: _machines, ...kept } = saved;
	if (machine !== undefined) return forgetMachine(context, address, machine, kept);
	if (token === undefined) throw new Failure("denied", `not logged in to ${address}`);
	const outcome = await endSession(context, { address, saved }, token);
	await saveServer(context.io, address, kept);
	await removeCachedSecrets(context.io);
	if (outcome instanceof Failure) {
		throw new Failure("unreachable", `logged out here, but not at the server: ${outcome.message}`, {
			hint: "the session there ends 24 hours after its login",
		});
	}
	await show(context, { message: "logged out", address }, `logged out of ${address}`);
}

/** Forgets a machine's tokens. The server ends them by themselves, after an hour at most. Design: §15 */
async function forgetMachine(context: Context, address: string, machine: string, kept: SavedServer): Promise<void> {
	await saveServer(context.io, address, kept);
	await removeCachedSecrets(context.io);
	const message = `logged out of ${address} as machine ${visible(machine)}; its token expires on its own`;
	await show(context, { message: "logged out", address, machine }, message);
}

/** A session that the server no longer knows has ended, too. */
async function endSession(context: Context, target: Target, token: string): Promise<Failure | undefined> {
	try {
		await send(await connectTo(context, target, token), { method: "POST", path: "auth/logout", accept: [401] });
		return undefined;
	} catch (error) {
		if (error instanceof Failure) return error;
		throw error;
	}
}

async function changePassword(context: Context<PasswordOptions>): Promise<void> {
	const client = await connect(context);
	await checkServer(client);
	requireSession(client, "cannot change the password");
	const body = await readPasswordChange(context, await needsCode(client));
	const answer = await send(client, { method: "POST", path: "auth/password", body });
	await show(context, answer, "password changed; your other sessions have ended");
}

async function whoami(context: Context): Promise<void> {
	const { address, saved } = await findTarget(context);
	const credential = await findCredential(context.io, saved);
	const client = await connect(context);
	const caller = await send(client, { method: "GET", path: "auth/whoami" });
	const source =
		credential?.kind === "given" ? credential.source : credential?.kind === "machine" ? "a JWT" : undefined;
	const { id, email, name, instance_admin, ...rest } = caller;
	const until = optional(caller, "expires_at") || (credential?.kind === "session" ? endOf(saved) : "");
	const found = { address, user: { id, email, name, instance_admin }, ...rest, ...(source && { source }) };
	await showFields(context, found, [
		["address", address],
		...identityOf(caller),
		["scopes", text(caller, "scopes")],
		...reachOf(caller).map((field) => [field.replace("_id", ""), String(caller[field])] as const),
		...(until === "" ? [] : [["until", until, "instant"] as const]),
		...(source === undefined ? [] : [["from", source] as const]),
	]);
}

/** The end of the saved session, as an instant; empty where it is not known. */
function endOf({ expires_at }: SavedServer): string {
	return expires_at === undefined ? "" : new Date(expires_at * 1000).toISOString();
}

function identityOf(caller: Answer): (readonly [string, string])[] {
	if (isMachine(caller))
		return [
			["machine", text(caller, "machine")],
			["id", text(caller, "id")],
		];
	return [
		["email", text(caller, "email")],
		["name", text(caller, "name")],
		["id", text(caller, "id")],
		["admin", caller.instance_admin === true ? "of this server" : "no"],
	];
}

/** Lists the fields that limit a caller. A machine's name says which realm it is in. */
function reachOf(caller: Answer): string[] {
	const fields = ["token_id", ...(isMachine(caller) ? [] : ["realm_id"]), "environment", "engines"];
	return fields.filter((field) => caller[field] !== null);
}

const isMachine = (caller: Answer): boolean => optional(caller, "machine") !== "";
