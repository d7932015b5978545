import { resolve } from "node:path";
import type { Context, LocalCommand } from "@svc/cli/command";
import { option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { type Io, isInteractive } from "@svc/cli/io";
import { note, showFields, visible } from "@svc/cli/output";
import { withQuestion } from "@svc/cli/progress";
import { confirm } from "@svc/cli/prompt";
import type { Restorable } from "@svc/server/offline";
import { explainBackup } from "./backup-verify.ts";

interface RestoreOptions {
	readonly replace?: boolean;
	readonly yes?: boolean;
}

/** `svc restore`: replaces the database by a backup, while no server runs. */
export const RESTORE: LocalCommand<RestoreOptions> = {
	usage: "restore <file>",
	summary: "restore a backup over the server's database; stop the server first",
	details:
		"svc first verifies the backup, as `svc backup verify` does, and needs its master key. Run it as the server's user, with the server's settings. With `database_url` it fills that database, which must be empty; an interruption leaves it empty. Writes since the backup are lost, sessions end, and leases are paused until `svc lease resume`.",
	options: [option("--replace", "move an existing database aside, under a dated name"), option("--yes", "do not ask")],
	examples: ["svc restore svc-20300101T000000000Z.db", "svc restore /mnt/safe/svc.db --replace --yes"],
	run: restoreFile,
};

async function restoreFile(context: Context<RestoreOptions>, file: string): Promise<void> {
	const { io, options } = context;
	if (options.yes !== true && !isInteractive(io))
		throw new Failure("usage", "restoring needs --yes where svc cannot ask");
	const restored = await restore(context, resolve(io.cwd(), file)).catch(explainBackup);
	if (restored === undefined) throw new Failure("failed", "nothing was restored");
	await showFields(context, restored, [
		["restored", restored.name],
		["into", restored.into],
		["events", String(restored.events)],
		["epoch", String(restored.epoch)],
	]);
	await note(
		context,
		"next: start the server, check `svc lease list`, then run `svc lease resume`: until then, the server creates and revokes no credentials on its own",
	);
}

async function restore(context: Context<RestoreOptions>, file: string) {
	const { io, options } = context;
	process.umask(0o077);
	const { readConfig, restoreBackup } = await import("@svc/server/offline");
	const config = readConfig(io.env, io.cwd());
	const replace = options.replace === true;
	return withQuestion(
		context,
		["checking the backup", "restoring it"],
		(confirm) => restoreBackup(config, file, { replace, confirm }),
		async (found: Restorable) => options.yes === true || ask(io, found),
	);
}

function ask(io: Io, { manifest, into }: Restorable): Promise<boolean> {
	const what = `${manifest.name}, made ${manifest.created_at} with ${manifest.events} events,`;
	return confirm(io, visible(`Restore ${what} into ${into}? What was written since is gone.`));
}
