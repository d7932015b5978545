import type { Command } from "commander";
import { type Answer, count, rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findUser } from "../client/find-user.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";

interface RevokeOptions {
	readonly user?: string;
	readonly realm?: string;
	readonly keepLinks?: boolean;
	readonly withMade?: boolean;
	readonly yes?: boolean;
}

/** Adds the command that revokes everything of a user or a realm. */
export function addRevokeCommand(program: Command, io: Io): void {
	addCommand<RevokeOptions>(program, io, {
		usage: "revoke",
		summary: "revoke everything that a user holds or that belongs to a realm, as one event",
		details:
			"Only for the instance's administrators. For a user: sessions, API tokens, credentials of engines, and identities that were linked with the account in the last 30 days, except the one that the account was created for. For a realm: the API tokens limited to it, those of its machines, and its credentials. With both: what they have in common, and no machine's token. Sessions and tokens end immediately, credentials as soon as they can be removed. The session or token that you use stays. What the user made for others to use in the last 30 days - machines, tokens and trusts of machines, invitations - is shown and stays, unless you give --with-made. To keep the user out, disable the account: `svc users disable`.",
		options: [
			option("--user <user>", "id or e-mail"),
			option("--realm <slug>", "realm; SVC_REALM and .svc.toml are ignored here"),
			option("--keep-links", "leave identities linked"),
			option(
				"--with-made",
				"end also the machines, tokens and trusts of machines, and invitations of the last 30 days",
			),
			option("--yes", "do not ask"),
		],
		examples: [
			"svc revoke --user ada@example.com",
			"svc revoke --user ada@example.com --with-made",
			"svc revoke --realm shop --yes",
			"svc revoke --user ada@example.com --realm shop",
		],
		run: revoke,
	});
}

async function revoke(context: Context<RevokeOptions>): Promise<void> {
	const { user, realm } = context.options;
	if (user === undefined && realm === undefined) throw new Failure("usage", "say whose: --user, --realm or both");
	const client = await connect(context);
	const account = user === undefined ? undefined : await findUser(client, user);
	const { withMade = false } = context.options;
	if (withMade && (account === undefined || realm !== undefined))
		throw new Failure("usage", "--with-made needs --user, and no --realm");
	if (account !== undefined && realm === undefined) await tellMade(context, client, account);
	const holder = account === undefined ? "" : ` that ${text(account, "email")} holds`;
	const where = realm === undefined ? "" : `${account === undefined ? " for" : " in"} the realm ${realm}`;
	const question = visible(`Revoke everything${holder}${where}?`);
	await confirmUnless(context, question, { doing: "revoking everything", done: "revoked" });
	const whose = { ...(account && { user_id: text(account, "id") }), ...(realm === undefined ? {} : { realm }) };
	const how = { ...(context.options.keepLinks === true && { keep_links: true }), ...(withMade && { with_made: true }) };
	const body = { ...whose, ...how };
	const call = { method: "POST", path: "revoke", body } as const;
	const answer = await withProgress(context, "revoking everything", () => send(client, call));
	const lines = [
		`sessions ended: ${count(answer, "sessions")}`,
		`API tokens ended: ${count(answer, "tokens")}`,
		`credentials that are being revoked: ${count(answer, "leases")}`,
		`identities unlinked: ${count(answer, "identities")}`,
		...(withMade
			? [
					`machines deleted: ${count(answer, "machines")}`,
					`tokens of machines ended: ${count(answer, "machine_tokens")}`,
					`trusts removed: ${count(answer, "trusts")}`,
					`invitations ended: ${count(answer, "invitations")}`,
				]
			: []),
	];
	await show(context, answer, lines.join("\n"));
	if (count(answer, "leases") > 0)
		await note(context, "`svc lease list --all-realms --state revoking` shows which are left");
	if (account !== undefined && account.disabled !== true)
		await note(context, `to keep them out: \`svc users disable ${visible(text(account, "email"))}\``);
}

/** Names what a user made for others to use in the last 30 days, and the identities that were linked with the account. */
async function tellMade(context: Context<RevokeOptions>, client: Client, account: Answer): Promise<void> {
	const call = { method: "GET", path: path`users/${text(account, "id")}/made` } as const;
	const made = await withProgress(context, "looking for what they made", () => send(client, call));
	const lines = [
		...linesOf(made, "machines", (one) => `machine ${text(one, "realm")}/${text(one, "name")}`),
		...linesOf(made, "machine_tokens", (one) => `token ${text(one, "prefix")}… of machine ${text(one, "machine")}`),
		...linesOf(made, "trusts", (one) => `trust ${text(one, "name")} of machine ${text(one, "machine")}`),
		...linesOf(made, "invitations", (one) => `invitation of ${text(one, "email")}`),
	];
	const links = linesOf(made, "identities", (one) => `${text(one, "provider")}: ${text(one, "subject")}`);
	const { withMade, keepLinks } = context.options;
	const what = withMade === true ? "this ends, too" : "this stays, unless you give --with-made";
	await tell(context, `made in the last 30 days; ${what}:`, lines);
	await tell(
		context,
		`identities linked in the last 30 days; they ${keepLinks === true ? "stay" : "end, too"}:`,
		links,
	);
}

/** Most rows of each kind that the server names. */
const MOST = 100;

/** A line for each row of a kind, and one more where the server may have left some out. */
function linesOf(made: Answer, kind: string, inWords: (row: Answer) => string): string[] {
	const lines = rows(made, kind).map(inWords);
	return lines.length < MOST ? lines : [...lines, `… and perhaps more: the newest ${MOST} of each kind are shown`];
}

async function tell(context: Context, title: string, lines: readonly string[]): Promise<void> {
	if (lines.length === 0) return;
	await note(context, visible(title));
	for (const line of lines) await note(context, visible(`  ${line}`));
}
