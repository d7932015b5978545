import type { Command } from "commander";
import { type Answer, isAnswer, text } from "../client/answer.ts";
import { type Client, send } from "../client/client.ts";
import { connect } from "../client/connection.ts";
import { addCommand, type Context } from "../command-line/command.ts";
import type { Io } from "../io/io.ts";
import { note, show, visible } from "../io/output.ts";

/** Adds the command that ends the pause of leases after a restore. */
export function addResumeCommand(lease: Command, io: Io): void {
	addCommand(lease, io, {
		usage: "resume",
		summary: "after a restore: allow creating and revoking credentials again",
		details:
			"Only for the instance's administrators. A restored server knows nothing of what was created or revoked since its backup, so it revokes nothing on its own until you have checked `svc lease list` and run this. It then revokes expired leases and reports credentials that no lease knows.",
		examples: ["svc lease list --all-realms && svc lease resume"],
		run: resumeLeases,
	});
}

async function resumeLeases(context: Context): Promise<void> {
	const answer = await send(await connect(context), { method: "POST", path: "leases/resume" });
	await show(context, answer, visible(text(answer, "message")));
}

/** Notes below a list of leases that they are paused, when they are. */
export async function notePause(context: Context, client: Client): Promise<void> {
	if (context.options.json === true) return;
	const health = await send(client, { method: "GET", path: "health", accept: [503] }).catch((): Answer => ({}));
	const leases = isAnswer(health.details) ? health.details.leases : undefined;
	if (!isAnswer(leases) || leases.paused !== true) return;
	await note(
		context,
		"the server was restored: it creates and revokes no credentials on its own until `svc lease resume`",
	);
}
