import { promises } from "node:fs";
import { type AuditStore, eventBy, noteBy } from "../audit/model.ts";
import { AppError, FatalError } from "../errors.ts";
import type { Log } from "../log.ts";
import { logRefusal, requireInstanceAdmin } from "../policy/authorize.ts";
import { notInstanceAdmin } from "../policy/decide.ts";
import type { Actor, Scope } from "../policy/model.ts";
import { type AccountSemaphore, createAccountSemaphore } from "../semaphore.ts";
import { Streamed } from "../streamed.ts";
import type { System } from "../system.ts";
import { backupName, describe, fileOf, listFolder } from "./folder.ts";
import { type MakeNeeds, makeBackup } from "./make.ts";
import { UnsoundBackup } from "./manifest.ts";
import type { Backup } from "./model.ts";

/** Dependencies of the backup rules. */
export interface BackupNeeds extends MakeNeeds {
	store: { audit: Pick<AuditStore, "append" | "record"> };
	system: System;
	log: Log;
	/** Name of this server's machine, where others share the store: the file is there. */
	node: string | undefined;
	/** Lets one backup be made at a time: two would only hinder each other. */
	backup_semaphore: Pick<AccountSemaphore, "run">;
}

/** Creates the semaphore of backups. Each copies and checks the whole database. */
export function createBackupSemaphore(): AccountSemaphore {
	return createAccountSemaphore({
		name: "backups_waiting_per_account",
		what: "backups",
		each: 1,
		all: 1,
		waiting: 16,
		hint: "one account asks for many backups at once: one a night is usual",
	});
}

/**
 * Makes a backup while the server keeps running. Its event is logged before the copy is taken, so the backup contains it, too.
 * @throws AppError forbidden, insufficient_scope, unhealthy (the disk is full or fails, or the copy is not sound), rate_limited
 */
export async function createBackup(needs: BackupNeeds, actor: Actor): Promise<Backup> {
	await requireBackups(needs, actor, "write");
	return needs.backup_semaphore.run(async () => {
		const now = needs.system.now();
		const name = backupName("svc", now);
		const facts = { name, node: needs.node };
		await needs.store.audit.record(eventBy(actor, now, "backup.created", undefined, facts));
		try {
			await makeBackup(needs, "svc", now);
		} catch (cause) {
			const failure = explainFailure(cause);
			await needs.store.audit.append(noteBy(actor, needs.system.now(), "backup.failed", undefined, facts));
			throw failure;
		}
		const backup = await describe(needs.folder, name);
		if (backup === undefined) throw noBackup();
		needs.log("info", "backup.created", { file: name });
		return backup;
	}, actor);
}

/** Lists the stored backups that can be read, newest first. @throws AppError forbidden, insufficient_scope, unhealthy (the folder cannot be read) */
export async function listBackups(needs: BackupNeeds, actor: Actor): Promise<Backup[]> {
	await requireBackups(needs, actor, "read");
	const onUnreadable = (file: string, error: unknown) => needs.log("error", "backup.unreadable", { file, error });
	return listFolder(needs.folder, onUnreadable).catch(refuseUnreadable);
}

/**
 * Opens a backup for download. The access is logged before the first byte leaves.
 * @throws AppError forbidden, insufficient_scope, not_found, unhealthy (it, or the folder, cannot be read)
 */
export async function downloadBackup(
	needs: BackupNeeds,
	actor: Actor,
	name: string,
): Promise<{ backup: Backup; content: Streamed }> {
	await requireBackups(needs, actor, "read");
	// Only names in the folder are accepted, so that no path leads out of it.
	const file = await fileOf(needs.folder, name).catch(refuseUnreadable);
	const backup = file === undefined ? undefined : await describe(needs.folder, name).catch(refuseUnreadable);
	if (file === undefined || backup === undefined) throw noBackup();
	await needs.store.audit.record(eventBy(actor, needs.system.now(), "backup.downloaded", undefined, { name }));
	return { backup, content: new Streamed(piecesOf(file)) };
}

/** Requires the instance admin, with the scope or with a token for backups. @throws AppError forbidden, insufficient_scope */
async function requireBackups(needs: BackupNeeds, actor: Actor, scope: Scope): Promise<void> {
	if (actor.purpose === undefined) return requireInstanceAdmin(needs, actor, scope);
	if (!actor.instance_admin) throw await logRefusal(needs, actor, notInstanceAdmin(), "instance");
	actor.grants.push("instance");
}

/** Bytes read at once. */
const PIECE_BYTES = 64 * 1024;

/** Reads the file in pieces, opened only at the first: an answer to HEAD is never read. */
async function* piecesOf(file: string): AsyncGenerator<Uint8Array> {
	const handle = await promises.open(file, "r");
	try {
		for (;;) {
			const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, null);
			if (bytesRead === 0) return;
			yield buffer.subarray(0, bytesRead);
		}
	} finally {
		await handle.close();
	}
}

function noBackup(): AppError {
	return new AppError("not_found", "backup not found: `svc backup list` shows the backups");
}

function refuseUnreadable(cause: unknown): never {
	const { code = "unknown" } = cause as NodeJS.ErrnoException;
	const hint = "make backup.directory and its files readable for the server's user";
	throw new AppError("unhealthy", `the backups cannot be read (${code}): ${hint}`, { cause });
}

const FULL = /^(ENOSPC|EDQUOT)$/;

/** Explains what to do about a failed backup. The server's own data is untouched. */
export function explainFailure(cause: unknown): AppError {
	const code = (cause as NodeJS.ErrnoException).code ?? "";
	if (FULL.test(code)) {
		return new AppError(
			"unhealthy",
			"no backup was made: its disk is full; free space, or set backup.directory to a folder on another disk",
			{ cause },
		);
	}
	if (cause instanceof UnsoundBackup || cause instanceof FatalError) {
		return new AppError("unhealthy", `no backup was made, because the copy is damaged: ${cause.message}`, { cause });
	}
	const hint = "make backup.directory a folder that the server's user can write";
	return new AppError("unhealthy", `no backup was made (${code || "unknown"}): ${hint}`, { cause });
}
