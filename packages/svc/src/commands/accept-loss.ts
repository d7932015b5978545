import type { Context, LocalCommand } from "@svc/cli/command";
import { option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { isInteractive } from "@svc/cli/io";
import { note, showFields, visible } from "@svc/cli/output";
import { withQuestion } from "@svc/cli/progress";
import { confirm } from "@svc/cli/prompt";
import type { Loss } from "@svc/server/offline";
import { explainBackup } from "./backup-verify.ts";

interface AcceptOptions {
	readonly yes?: boolean;
}

/** `svc nodes accept-loss`: goes on with a database that lacks answered changes, while the servers run. */
export const ACCEPT_LOSS: LocalCommand<AcceptOptions> = {
	group: "nodes",
	usage: "accept-loss",
	summary: "accept that PostgreSQL lost answered changes, or is another one, so that the servers use it again",
	details:
		"Servers refuse a database that lacks what they have answered, or that is another one than before: every request gets 503. Bring back the database that has the changes if you can. If you cannot, run this on the machine of a server that refuses, as the server's user, with its settings and its master key; servers need not be stopped. It shows what was seen and what was found, and asks. The audit log records both; then all servers use the database as it is. Passwords, tokens and roles that were changed or revoked meanwhile are as they were before, and so are secrets: check them.",
	options: [option("--yes", "do not ask")],
	examples: ["svc nodes accept-loss", "svc nodes accept-loss --yes --json"],
	run: acceptLoss,
};

async function acceptLoss(context: Context<AcceptOptions>): Promise<void> {
	const { io, options } = context;
	if (options.yes !== true && !isInteractive(io))
		throw new Failure("usage", "accepting a loss needs --yes where nobody can be asked");
	const { acceptLoss, readConfig } = await import("@svc/server/offline");
	const config = readConfig(io.env, io.cwd());
	const accepted = await withQuestion(
		context,
		["comparing the database", "accepting it"],
		(confirm) => acceptLoss(config, confirm),
		async (loss: Loss) => {
			for (const line of describe(loss)) await note(context, visible(line));
			return options.yes === true || confirm(io, visible(`Go on with ${loss.place} as it is?`));
		},
	).catch(explainBackup);
	if (accepted === undefined) throw new Failure("failed", "nothing was accepted");
	await showFields(context, accepted, [
		["accepted", accepted.place],
		["reason", accepted.reason],
		["events seen", String(accepted.seen.seq)],
		["events found", String(accepted.found.seq)],
	]);
}

function* describe({ place, reason, seen, found }: Loss): Generator<string> {
	yield `database     ${place}`;
	yield `reason       ${reason}`;
	yield `log seen     ${seen.seq} events, the last with hash ${seen.hash}`;
	yield `log found    ${found.seq} events, the last with hash ${found.hash}`;
}
