import type { Command } from "commander";
import { count, text } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { findUser } from "../client/find-user.ts";
import { addCommand, type Context, option } from "../command-line/command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";
import { withProgress } from "../io/progress.ts";
import { confirmUnless } from "../io/prompt.ts";

interface RevokeAllOptions {
	readonly realm?: string;
	readonly user?: string;
	readonly engine?: string;
	readonly yes?: boolean;
}

/** Adds the command that revokes many leases together. */
export function addRevokeAllCommand(lease: Command, io: Io): void {
	addCommand<RevokeAllOptions>(lease, io, {
		usage: "revoke-all",
		summary: "revoke all leases of a realm, a user or an engine",
		details: "Only for the instance's administrators. With several options, the leases that match all of them.",
		options: [
			option("--realm <slug>", "of this realm"),
			option("--user <user>", "made by this user, by id or e-mail"),
			option("--engine <type>", "of this engine"),
			option("--yes", "do not ask"),
		],
		examples: [
			"svc lease revoke-all --realm shop --engine keyvalue",
			"svc lease revoke-all --user ada@example.com --yes",
		],
		run: revokeAll,
	});
}

async function revokeAll(context: Context<RevokeAllOptions>): Promise<void> {
	const { realm, user, engine } = context.options;
	if ([realm, user, engine].every((named) => named === undefined))
		throw new Failure("usage", "say whose leases: --realm, --user or --engine");
	const client = await connect(context);
	const account = user === undefined ? undefined : await findUser(client, user);
	const words = { doing: "revoking all leases", done: "revoked" };
	const whose = describe({ realm, engine, email: account && text(account, "email") });
	await confirmUnless(context, `Revoke all leases of ${whose}?`, words);
	const body = {
		...(realm === undefined ? {} : { realm }),
		...(account === undefined ? {} : { user_id: text(account, "id") }),
		...(engine === undefined ? {} : { engine }),
	};
	const call = { method: "POST", path: "leases/revoke", body } as const;
	const answer = await withProgress(context, "revoking leases", () => send(client, call));
	await show(context, answer, `leases that are being revoked: ${count(answer, "count")}`);
	await note(context, "`svc lease list --state revoking` shows which are left");
}

/** Leases that are to be revoked. */
interface Whose {
	readonly realm: string | undefined;
	readonly engine: string | undefined;
	readonly email: string | undefined;
}

function describe({ realm, engine, email }: Whose): string {
	const parts = [
		...(realm === undefined ? [] : [`the realm ${realm}`]),
		...(email === undefined ? [] : [`the user ${email}`]),
		...(engine === undefined ? [] : [`the engine ${engine}`]),
	];
	return visible(parts.join(" and "));
}
