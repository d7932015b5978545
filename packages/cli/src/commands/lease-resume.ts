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
			"Only for the instance's administrators. A restored server knows nothing of what was created or revoked since its backup, so it rests until you have looked at `svc lease list`. After that it revokes leases that are over and reports what no lease knows.",
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
	await note(context, "the server was restored: no credential is made or ended by itself until `svc lease resume`");
}
