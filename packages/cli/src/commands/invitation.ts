import type { Command } from "commander";
import { type Answer, emailOf, rows, text } from "../client/answer.ts";
import { type Client, path, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { readAll } from "../client/pages.ts";
import { addCommand, addGroup, type Context } from "../command-line/command.ts";
import { notFound } from "../command-line/not-found.ts";
import { Failure } from "../failure.ts";
import { repeatable } from "../input/fields.ts";
import type { Io } from "../io/io.ts";
import { note, show, showTable, visible } from "../io/output.ts";
import { ids, instants } from "../io/table.ts";

interface InviteOptions {
	readonly realm?: readonly string[];
	readonly role?: readonly string[];
}

const DETAILS = `The code is shown once. It makes one account, for this address alone, within 7 days, and ends your earlier invitation of the address. Pass it on by a channel that only this person reads.
Give each --realm its --role, or one --role for all of them; viewer without it. You must be an admin of each realm, now and when the invitation is used. SVC_REALM and .svc.toml are ignored here.
Where only the instance admin registers people, only an instance admin invites. It takes a session, not an API token.`;

/** Adds the commands of invitations. */
export function addInvitationCommands(program: Command, io: Io): void {
	addCommand<InviteOptions>(program, io, {
		usage: "invite <email>",
		summary: "invite somebody who has no account, with roles in realms",
		details: DETAILS,
		options: [
			repeatable("--realm <slug>", "a realm to give a role in"),
			repeatable("--role <role>", "the role there: viewer, member or admin"),
		],
		examples: [
			"svc invite bob@example.com --realm shop --role member",
			"svc invite bob@example.com --realm shop --role admin --realm blog --role viewer",
		],
		run: invite,
	});
	const invitation = addGroup(program, "invitation", "invitations that nobody has used yet");
	addCommand(invitation, io, {
		usage: "list",
		summary: "list your open invitations; for the instance admin, everybody's",
		examples: ["svc invitation list"],
		isList: true,
		run: listInvitations,
	});
	addCommand(invitation, io, {
		usage: "delete <invitation>",
		summary: "end an invitation, named by its address or id",
		examples: ["svc invitation delete bob@example.com"],
		run: deleteInvitation,
	});
}

async function invite(context: Context<InviteOptions>, email: string): Promise<void> {
	const { realm: realms = [], role: roles = [] } = context.options;
	const bindings = pairs(realms, roles);
	const body = bindings.length === 0 ? { email } : { email, bindings };
	const answer = await send(await connect(context), { method: "POST", path: "invitations", body });
	const invited = text(answer, "email");
	await show(context, answer, visible(text(answer, "code")));
	await note(
		context,
		visible(`valid until ${text(answer, "expires_at")}, once: \`svc register ${invited} --invite -\` asks for it`),
	);
}

function pairs(realms: readonly string[], roles: readonly string[]): { realm: string; role: string }[] {
	if (roles.length > 1 && roles.length !== realms.length)
		throw new Failure("usage", "give each --realm its --role, or one --role for all");
	if (realms.length === 0 && roles.length > 0)
		throw new Failure("usage", "say in which realm: --realm", { hint: "SVC_REALM and .svc.toml are ignored here" });
	return realms.map((realm, at) => ({ realm, role: roles[at] ?? roles[0] ?? "viewer" }));
}

const listed = (context: Context, client: Client): Promise<Answer[]> =>
	readAll(context, client, "invitations", "invitations");

async function listInvitations(context: Context): Promise<void> {
	const invitations = await listed(context, await connect(context));
	const lines = invitations.map((invitation) => [
		text(invitation, "email"),
		rows(invitation, "bindings")
			.map((binding) => `${text(binding, "realm")}:${text(binding, "role")}`)
			.join(" "),
		text(invitation, "expires_at"),
		emailOf(invitation, "created_by"),
		text(invitation, "id"),
	]);
	const titles = ["EMAIL", "ROLES", instants("EXPIRES"), ids("INVITED BY"), ids("ID")];
	await showTable(context, { invitations }, titles, lines, "no open invitations: `svc invite` makes one");
}

async function deleteInvitation(context: Context, named: string): Promise<void> {
	const client = await connect(context);
	const id = named.includes("@") ? await findByEmail(context, client, named) : named;
	const answer = await send(client, { method: "DELETE", path: path`invitations/${id}` });
	await show(context, answer, visible(text(answer, "message")));
}

/** The id of the one open invitation of an address. @throws Failure notFound, usage when several people have invited it */
async function findByEmail(context: Context, client: Client, email: string): Promise<string> {
	const invitations = await listed(context, client);
	const found = invitations.filter((invitation) => text(invitation, "email") === email.toLowerCase());
	if (found.length > 1)
		throw new Failure("usage", `${found.length} people have invited this address`, {
			hint: "name one by its id: `svc invitation list` shows them",
		});
	if (found[0] !== undefined) return text(found[0], "id");
	const known = invitations.map((invitation) => text(invitation, "email"));
	throw notFound({ noun: "invitation", typed: [email], known, hint: "`svc invitation list` shows them" });
}
