import type { Command } from "commander";
import { type Answer, rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { askFactors, isConfirmed } from "../client/factors.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import { CODE_STDIN, type CodeOptions, type PasswordOptions, readCode } from "../input/password.ts";
import { type Io, isInteractive } from "../io/io.ts";
import { note, show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";
import { PROOF_STDIN, readProof, requireSession } from "./account.ts";

const PROOF =
	"svc asks for the account's password and, if you have a second factor already, for a code: one of your authenticator app, or a recovery code.";

/** Adds the commands of the account's second factors. */
export function addFactorCommands(program: Command, io: Io): void {
	const factor = addGroup(program, "factor", "what your login asks for in addition to the password");
	addCommand<PasswordOptions>(factor, io, {
		usage: "add",
		summary: "add an authenticator app, whose codes your logins ask for",
		details: `Type the secret into the app, or give it the otpauth link as a QR code. The first code confirms it: on a terminal svc asks for it, elsewhere use \`svc factor confirm\` within 15 minutes. Your other sessions end then, and svc shows recovery codes, once: each lets you in once without the app, so keep them where the app is not. API tokens and sign-ins at a provider are not asked for a code. ${PROOF}`,
		options: [PROOF_STDIN],
		examples: ["svc factor add"],
		run: addFactor,
	});
	addCommand<CodeOptions>(factor, io, {
		usage: "confirm <id>",
		summary: "confirm a new authenticator app with its first code",
		options: [CODE_STDIN],
		examples: ["svc factor confirm 0198c0de-0000-7000-8000-000000000001"],
		run: confirmFactor,
	});
	addCommand(factor, io, {
		usage: "list",
		summary: "list your second factors, and how many recovery codes are left",
		examples: ["svc factor list", "svc factor list --json"],
		isList: true,
		run: listFactors,
	});
	addCommand<PasswordOptions>(factor, io, {
		usage: "remove <id>",
		summary: "remove a second factor",
		details: `An authenticator app, or a passkey, which people make in the console. \`svc factor list\` shows the ids. Removing the last factor also removes the recovery codes. ${PROOF}`,
		options: [PROOF_STDIN],
		examples: ["svc factor remove 0198c0de-0000-7000-8000-000000000001"],
		run: removeFactor,
	});
	addCommand<PasswordOptions>(factor, io, {
		usage: "recovery",
		summary: "make new recovery codes, which replace the earlier ones",
		details: PROOF,
		options: [PROOF_STDIN],
		examples: ["svc factor recovery"],
		run: renewCodes,
	});
}

async function addFactor(context: Context<PasswordOptions>): Promise<void> {
	const client = await connectSession(context);
	const body = { type: "totp", ...(await readProof(context, client)) };
	const answer = await send(client, { method: "POST", path: "auth/factors", body });
	const id = text(answer, "id");
	const lines = [`secret  ${text(answer, "secret")}`, `link    ${text(answer, "url")}`];
	await show(context, answer, lines.map(visible).join("\n"));
	const isAsked = isInteractive(context.io) && context.options.passwordStdin !== true && context.options.json !== true;
	if (isAsked) await showCodes(context, await confirmWith(client, id, await readCode(context)));
	else await note(context, `next: \`svc factor confirm ${visible(id)}\` with a code of the app, within 15 minutes`);
}

async function confirmFactor(context: Context<CodeOptions>, id: string): Promise<void> {
	const client = await connectSession(context);
	await showCodes(context, await confirmWith(client, id, await readCode(context)));
}

const confirmWith = (client: Client, id: string, code: string): Promise<Answer> =>
	send(client, { method: "POST", path: path`auth/factors/${id}/confirm`, body: { code } });

async function showCodes(context: Context, answer: Answer): Promise<void> {
	const codes = (answer.recovery_codes as unknown[]).map(String);
	if (codes.length > 0) await show(context, answer, codes.map(visible).join("\n"));
	else await show(context, answer, "confirmed; your recovery codes are those that you have");
	await note(
		context,
		codes.length > 0
			? "recovery codes, shown this once: each lets you in once without the app; keep them elsewhere"
			: "`svc factor recovery` makes new ones",
	);
}

async function listFactors(context: Context): Promise<void> {
	const client = await connectSession(context);
	const answer = await askFactors(client);
	const lines = rows(answer, "factors").map((factor) => [
		text(factor, "id"),
		text(factor, "type"),
		typeof factor.name === "string" ? factor.name : "",
		text(factor, "created_at"),
		stateOf(factor),
	]);
	await showTable(context, answer, [ids("ID"), "TYPE", "NAME", instants("ADDED"), "STATE"], lines, "no second factor");
	if (lines.length > 0) await note(context, `recovery codes left: ${Number(answer.recovery_codes_left)}`);
}

function stateOf(factor: Answer): string {
	if (factor.disabled === true) return "disabled: a copy was used";
	if (!isConfirmed(factor)) return "to be confirmed";
	return factor.type === "passkey" ? "signs in to the console" : "asked for";
}

async function removeFactor(context: Context<PasswordOptions>, id: string): Promise<void> {
	const client = await connectSession(context);
	const body = await readProof(context, client);
	const answer = await send(client, { method: "DELETE", path: path`auth/factors/${id}`, body });
	await show(context, answer, visible(text(answer, "message")));
}

async function renewCodes(context: Context<PasswordOptions>): Promise<void> {
	const client = await connectSession(context);
	const body = await readProof(context, client);
	await showCodes(context, await send(client, { method: "POST", path: "auth/recovery-codes", body }));
}

async function connectSession(context: Context): Promise<Client> {
	const client = await connect(context);
	requireSession(client, "has no second factor");
	return client;
}
