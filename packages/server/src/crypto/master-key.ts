import { existsSync } from "node:fs";
import { join } from "node:path";
import { FatalError } from "../errors.ts";
import { Redacted } from "../redacted.ts";
import type { System } from "../system.ts";
import { createKeyFile, masterKeyHome, parseKeyText, readKeyFile, stagedBeside } from "./master-key-file.ts";
import type { MasterKeyHome } from "./rotation.ts";
import { masterFingerprint } from "./wrap.ts";
import { KEY_BYTES } from "./xaes.ts";

/** Possible sources of a master key, in this order: credential, file, environment. Design: §5, §7.1. */
export interface MasterKeySources {
	/** Folder of systemd's credentials; the key is `master-key` in it. */
	credentials_dir: string | undefined;
	/** The file that the configuration names. */
	master_key_file: string | undefined;
	/** Folder of the default file, `master.key`. */
	data_dir: string;
	/** `SVC_MASTER_KEY`. */
	master_key: Redacted<string> | undefined;
	/** The file that holds the next master key before a rotation to it; the credential `next-master-key` overrides it. */
	next_master_key_file?: string | undefined;
}

/** A master key and where it was found. */
export interface MasterKey {
	/** 32 bytes. */
	key: Redacted<Buffer>;
	fingerprint: string;
	origin: "credential" | "file" | "environment";
	/** Undefined when it came from the environment. */
	file: string | undefined;
	/** True when it was made just now: tell people to keep a copy. */
	generated: boolean;
	/** Home that its rotation changes; undefined when it is not in a file of ours. */
	home: MasterKeyHome | undefined;
	/** Sentences for the log. */
	warnings: string[];
}

/**
 * Finds the master key, and makes one in the default file if the store is new and no source has one. Completes an interrupted rotation first.
 * After a rotation to a key provided beforehand, finds that one, too, wherever the earlier one still is.
 * @param needed fingerprint that the store requires; undefined when the store is new
 * @throws FatalError saying what to do when there is none, or it is malformed, or its file is open to others
 * Design: §5.
 */
export async function loadMasterKey(
	sources: MasterKeySources,
	needed: string | undefined,
	system: Pick<System, "randomBytes">,
): Promise<MasterKey> {
	const found = (await fromCredential(sources)) ?? (await fromSettledFile(sources, needed)) ?? fromEnvironment(sources);
	const next = needed === undefined || found?.fingerprint === needed ? undefined : await findNextMasterKey(sources);
	if (next !== undefined && next.fingerprint === needed) return { ...next, warnings: [inUse(next)] };
	if (found !== undefined) return found;
	const file = defaultFile(sources);
	if (needed !== undefined) throw noKey(needed, file);
	const key = system.randomBytes(KEY_BYTES);
	createKeyFile(file, key);
	return { ...describe(key, "file", file), generated: true };
}

/**
 * Finds the next master key, provided beforehand: the credential `next-master-key`, else the file of `next_master_key_file`.
 * @returns undefined when there is neither; without a home, since we must not change where it is
 * @throws FatalError when it is malformed, or its file is open to others
 * Design: §5.
 */
export async function findNextMasterKey(
	sources: Pick<MasterKeySources, "credentials_dir" | "next_master_key_file">,
): Promise<MasterKey | undefined> {
	const { credentials_dir, next_master_key_file: file } = sources;
	const credential = credentials_dir === undefined ? undefined : join(credentials_dir, "next-master-key");
	const handed = credential && (await readKeyFile(credential, undefined));
	if (handed) return describe(handed, "credential", credential);
	const key = file === undefined ? undefined : await readKeyFile(file, process.geteuid?.());
	return key && { ...describe(key, "file", file), home: undefined };
}

/** Finds the master key with this fingerprint wherever one may be, and changes nothing; undefined where there is none, or it cannot be read. */
export async function findMasterKey(sources: MasterKeySources, needed: string): Promise<MasterKey | undefined> {
	try {
		return await requireMasterKey(sources, needed);
	} catch (error) {
		if (error instanceof FatalError) return undefined;
		throw error;
	}
}

function inUse({ file }: MasterKey): string {
	return `the next master key, ${file}, is now in use: put it in place of the previous key, which opens only older backups`;
}

/**
 * Finds the master key with this fingerprint and changes nothing, not even an interrupted rotation.
 * @throws FatalError naming the fingerprint when there is no key or another one, or saying what is wrong with its file
 */
export async function requireMasterKey(sources: MasterKeySources, needed: string): Promise<MasterKey> {
	const found = (await fromCredential(sources)) ?? (await fromFile(sources, needed)) ?? fromEnvironment(sources);
	const next = found?.fingerprint === needed ? undefined : await findNextMasterKey(sources);
	if (next?.fingerprint === needed) return next;
	if (found === undefined) throw noKey(needed, defaultFile(sources));
	if (found.fingerprint === needed) return found;
	throw new FatalError(
		`the data needs the master key with fingerprint ${needed}, but this key has ${found.fingerprint}: set SVC_MASTER_KEY_FILE to the right key's file; no other key can open the data`,
	);
}

function noKey(needed: string, file: string): FatalError {
	return new FatalError(
		`the data needs the master key with fingerprint ${needed}, but there is none: put it in ${file} with mode 0400, or set master_key_file to its file; no other key can open the data`,
	);
}

async function fromCredential({ credentials_dir, master_key }: MasterKeySources): Promise<MasterKey | undefined> {
	if (credentials_dir === undefined) return undefined;
	const file = join(credentials_dir, "master-key");
	const key = await readKeyFile(file, undefined);
	return key && { ...describe(key, "credential", file), warnings: ignoring(master_key, file) };
}

/** Reads the key from its file, after completing an interrupted rotation. */
async function fromSettledFile(sources: MasterKeySources, needed: string | undefined): Promise<MasterKey | undefined> {
	const file = sources.master_key_file ?? defaultFile(sources);
	if (needed !== undefined) await masterKeyHome(file).settle(needed);
	return fromFile(sources, needed);
}

async function fromFile(sources: MasterKeySources, needed: string | undefined): Promise<MasterKey | undefined> {
	const file = sources.master_key_file ?? defaultFile(sources);
	const key = await readKeyFile(file, process.geteuid?.());
	if (key !== undefined) return { ...describe(key, "file", file), warnings: ignoring(sources.master_key, file) };
	if (sources.master_key_file === undefined) return undefined;
	const hint =
		needed === undefined
			? `make one with head -c 32 /dev/urandom > ${file}; chmod 0400 ${file}`
			: `the data needs the one with fingerprint ${needed}`;
	throw new FatalError(`master_key_file: ${file} does not exist: ${hint}`);
}

function fromEnvironment({ master_key }: MasterKeySources): MasterKey | undefined {
	if (master_key === undefined) return undefined;
	const key = parseKeyText(master_key.reveal(), "SVC_MASTER_KEY");
	const warning =
		"the master key comes from SVC_MASTER_KEY, which every process of this user can read: use master_key_file or a systemd credential instead";
	return { ...describe(key, "environment", undefined), warnings: [warning] };
}

function describe(key: Buffer, origin: MasterKey["origin"], file: string | undefined): MasterKey {
	return {
		key: new Redacted(key),
		fingerprint: masterFingerprint(key),
		origin,
		file,
		generated: false,
		home: origin === "file" && file !== undefined ? masterKeyHome(file) : undefined,
		warnings: [],
	};
}

function ignoring(master_key: Redacted<string> | undefined, file: string): string[] {
	return master_key === undefined ? [] : [`SVC_MASTER_KEY is ignored: ${file} overrides it`];
}

/** Finds the key that an interrupted rotation left next to the master key's file, for the next start to settle; none when a credential has the key. */
export function findStagedKey(sources: MasterKeySources): string | undefined {
	const { credentials_dir, master_key_file } = sources;
	if (credentials_dir !== undefined && existsSync(join(credentials_dir, "master-key"))) return undefined;
	const staged = stagedBeside(master_key_file ?? defaultFile(sources));
	return existsSync(staged) ? staged : undefined;
}

function defaultFile({ data_dir }: MasterKeySources): string {
	return join(data_dir, "master.key");
}
