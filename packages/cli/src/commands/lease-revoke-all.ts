import type { Command } from "commander";
import { count } from "../client/answer.ts";
import { send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
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
			option("--user <id>", "made by this user"),
			option("--engine <type>", "of this engine"),
			option("--yes", "do not ask"),
		],
		examples: [
			"svc lease revoke-all --realm shop --engine keyvalue",
			"svc lease revoke-all --user 0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d --yes",
		],
		run: revokeAll,
	});
}

async function revokeAll(context: Context<RevokeAllOptions>): Promise<void> {
	const { options } = context;
	const { realm, user, engine } = options;
	const body = {
		...(realm === undefined ? {} : { realm }),
		...(user === undefined ? {} : { user_id: user }),
		...(engine === undefined ? {} : { engine }),
	};
	if (Object.keys(body).length === 0) throw new Failure("usage", "say whose leases: --realm, --user or --engine");
	const client = await connect(context);
	const words = { doing: "revoking all leases", done: "revoked" };
	await confirmUnless(context, `Revoke all leases of ${describe(options)}?`, words);
	const call = { method: "POST", path: "leases/revoke", body } as const;
	const answer = await withProgress(context, "revoking leases", () => send(client, call));
	await show(context, answer, `leases that are being revoked: ${count(answer, "count")}`);
	await note(context, "`svc lease list --state revoking` shows which are left");
}

function describe({ realm, user, engine }: RevokeAllOptions): string {
	const parts = [
		...(realm === undefined ? [] : [`the realm ${realm}`]),
		...(user === undefined ? [] : [`the user ${user}`]),
		...(engine === undefined ? [] : [`the engine ${engine}`]),
	];
	return visible(parts.join(" and "));
}
