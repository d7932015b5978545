import { resolve } from "node:path";
import type { Context, LocalCommand } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { showFields } from "@svc/cli/output";
import { withProgress } from "@svc/cli/progress";
import type { Sound } from "@svc/server/offline";

/** `svc backup verify`: checks a backup where its master key is, without a server. */
export const BACKUP_VERIFY: LocalCommand = {
	group: "backup",
	usage: "verify <file>",
	summary: "check that a backup is sound and that the master key opens it; needs no server",
	details:
		"svc compares every byte, and checks the database, its audit log and one sealed row of each kind. It reads the master key from where the server reads it: SVC_MASTER_KEY_FILE, master_key_file in svc.toml, or master.key in the data directory.",
	examples: [
		"svc backup verify svc-20300101T000000000Z.db",
		"SVC_MASTER_KEY_FILE=master.key svc backup verify svc.db --json",
	],
	run: verifyFile,
};

async function verifyFile(context: Context, file: string): Promise<void> {
	const found = await withProgress(context, "checking the backup", () => judge(context, file)).catch(explainBackup);
	const { manifest, checkpoints, keys, samples } = found;
	const document = { status: "sound", ...manifest, checkpoints, keys, samples };
	await showFields(context, document, [
		["status", "sound"],
		["name", manifest.name],
		["created", manifest.created_at],
		["by", `svc ${manifest.svc}`],
		["schema", manifest.schema],
		["master key", manifest.fingerprint],
		["events", `${manifest.events}, the last with hash ${manifest.last_hash}`],
		["checkpoints", String(checkpoints)],
		["keys opened", String(keys)],
		["rows opened", String(samples)],
		["restored", manifest.restore_epoch === 0 ? "never before" : `${manifest.restore_epoch} times before`],
	]);
}

async function judge({ io }: Context, file: string): Promise<Sound> {
	const { readConfig, verifyBackup } = await import("@svc/server/offline");
	return verifyBackup(readConfig(io.env, io.cwd()), resolve(io.cwd(), file));
}

/** Turns a fault of a backup, or around it, into the failure of the command. @throws Failure failed */
export async function explainBackup(error: unknown): Promise<never> {
	const { FatalError, UnsoundBackup } = await import("@svc/server/offline");
	if (error instanceof UnsoundBackup) {
		throw new Failure("failed", `the backup is damaged: ${error.message}`, {
			code: "backup_unsound",
			hint: "take another one: `svc backup list` shows the server's backups",
			cause: error,
		});
	}
	if (error instanceof FatalError) throw new Failure("failed", error.message, { cause: error });
	throw error;
}
