import { promises } from "node:fs";
import { join } from "node:path";
import { syncDirectory } from "../durable-file.ts";
import { hashFile } from "../file-hash.ts";
import { type CheckNeeds, checkBackup, checkBytes, frozenKeys, withCopy } from "./check.ts";
import { type BackupFolder, backupName, draftOf, forgetOldest, prepareFolder } from "./folder.ts";
import { sealManifest } from "./manifest.ts";
import type { BackupSource, Manifest } from "./model.ts";

/** Dependencies of making a backup. */
export interface MakeNeeds extends CheckNeeds, BackupSource {
	folder: BackupFolder;
	/** Version of the server. */
	version: string;
	/** Says that the copy is evidence: its rows and its log are not believed, and need not be sound. */
	isEvidence?: boolean;
}

/**
 * Makes a backup: a copy that is checked before it gets its name, so that every named backup but evidence is sound. Then removes older ones beyond the limit.
 * @param kind `svc`, or `before-<migration>`
 * @returns its name
 * @throws Error of the file system or the store, UnsoundBackup when the copy is not sound; then no file is left
 */
export async function makeBackup(needs: MakeNeeds, kind: string, now: Date): Promise<string> {
	const { folder } = needs;
	prepareFolder(folder);
	const name = backupName(kind, now);
	const draft = draftOf(folder, name);
	try {
		await (await promises.open(draft, "wx", 0o600)).close();
		await needs.copyTo(draft);
		await describeCopy(needs, draft, name, now);
		await (needs.isEvidence === true ? checkBytes(draft) : checkBackup(needs, draft));
		await promises.rename(draft, join(folder.directory, name));
	} catch (error) {
		await promises.rm(draft, { force: true });
		throw error;
	}
	syncDirectory(folder.directory);
	forgetOldest(folder, kind === "svc" ? "svc" : "before");
	return name;
}

/** Appends the manifest to the copy, signed with the instance's own key, and makes both durable. */
async function describeCopy(needs: MakeNeeds, draft: string, name: string, now: Date): Promise<void> {
	const { facts, keys } = await withCopy(needs, draft, async (copy) => ({
		facts: await copy.facts(),
		keys: await copy.keys(),
	}));
	const keyring = await needs.openKeys(frozenKeys(facts.fingerprint, keys));
	const handle = await promises.open(draft, "r");
	const { size } = await handle.stat().finally(() => handle.close());
	const manifest: Manifest = {
		format: 1,
		name,
		created_at: now.toISOString(),
		svc: needs.version,
		schema: facts.schema,
		fingerprint: keyring.fingerprint,
		events: facts.events,
		last_hash: facts.last_hash.toString("hex"),
		restore_epoch: facts.restore_epoch,
		bytes: size,
		sha256: await hashFile(draft),
	};
	await sealManifest(draft, manifest, keyring.checkpoint().active);
}
