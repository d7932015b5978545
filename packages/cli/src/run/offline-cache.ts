import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { rows, text } from "../client/answer.ts";
import { Failure } from "../failure.ts";
import { describeDuration } from "../io/duration.ts";
import { type Io, setting } from "../io/io.ts";
import { writePrivateFile } from "../io/private-file.ts";
import type { RealmEnvironment, Secret } from "./secrets.ts";

/** Owner and origin of kept secrets. Those kept for one open for no other. */
export interface Owner extends RealmEnvironment {
	/** Address of the server. */
	readonly address: string;
	/** The user's id, the machine's name, or the digest of a token. */
	readonly identity: string;
}

/** Kept secrets and their age. */
export interface CachedSecrets {
	readonly secrets: readonly Secret[];
	/** Milliseconds since they were read from the server. */
	readonly age_ms: number;
}

/** Older ones serve no sensible `--max-age`; they are removed when others are kept. */
const REMOVED_AFTER_MS = 30 * 86_400_000;
/** A clock that is being corrected goes back a little. */
const CLOCK_SLACK_MS = 60_000;
const KEY_BYTES = 32;
const [SALT_BYTES, NONCE_BYTES, TAG_BYTES] = [32, 12, 16];
const PURPOSE = "svc run: kept secrets, format 1";

/**
 * Keeps the secrets for `--offline`, sealed with AES-256-GCM under a key that is next to them and only this user can read. Each write has a key
 * of its own, derived with a random salt, so that no nonce ever repeats.
 * @throws the system's error when they cannot be written
 */
export async function cacheSecrets(io: Io, owner: Owner, secrets: readonly Secret[]): Promise<void> {
	const folder = folderOf(io);
	if (folder === undefined) return;
	await mkdir(folder, { recursive: true, mode: 0o700 });
	const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
	const cipher = createCipheriv("aes-256-gcm", deriveKey(await readOrMakeKey(folder), salt), nonce);
	cipher.setAAD(Buffer.from(nameOf(owner)));
	const plain = JSON.stringify({ read_at: Date.now(), secrets });
	const sealed = [salt, nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()];
	await writePrivateFile(fileOf(folder, owner), Buffer.concat(sealed).toString("base64url"));
	await removeOld(folder);
}

/**
 * The secrets as last read from the server.
 * @param max_age_ms their maximum age
 * @throws Failure when there are none, they are too old, or they or the key were altered
 */
export async function readCachedSecrets(io: Io, owner: Owner, max_age_ms: number): Promise<CachedSecrets> {
	const folder = folderOf(io);
	const sealed = folder === undefined ? undefined : await readPrivate(fileOf(folder, owner));
	const key = folder === undefined ? undefined : await readPrivate(join(folder, KEY_FILE));
	if (sealed === undefined || key === undefined) throw nothingCached(owner);
	const kept = unseal(Buffer.from(key, "base64url"), Buffer.from(sealed, "base64url"), owner);
	if (kept.age_ms < -CLOCK_SLACK_MS) throw unusable("they are of the future: this machine's clock was set back");
	if (kept.age_ms > max_age_ms) {
		const ages = `${describeDuration(kept.age_ms)} old, and --max-age is ${describeDuration(max_age_ms)}`;
		throw unusable(`they are ${ages}`);
	}
	return kept;
}

/** Removes all kept secrets, of every server, and the key. @throws the system's error when that fails */
export async function removeCachedSecrets(io: Io): Promise<void> {
	const folder = folderOf(io);
	if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}

/** `svc/run` under `$XDG_STATE_HOME`, else `~/.local/state`; none when neither is known. */
function folderOf(io: Io): string | undefined {
	const [state, home] = [setting(io, "XDG_STATE_HOME"), setting(io, "HOME")];
	if (state !== undefined && isAbsolute(state)) return join(state, "svc", "run");
	return home !== undefined && isAbsolute(home) ? join(home, ".local", "state", "svc", "run") : undefined;
}

const KEY_FILE = "key";

/** Sealed secrets are bound to this name. */
function nameOf({ address, identity, realm, environment }: Owner): string {
	return JSON.stringify([PURPOSE, address, identity, realm, environment]);
}

function fileOf(folder: string, owner: Owner): string {
	return join(folder, `${hash("sha256", nameOf(owner), "hex")}.sealed`);
}

function deriveKey(key: Buffer, salt: Buffer): Buffer {
	return Buffer.from(hkdfSync("sha256", key, salt, PURPOSE, KEY_BYTES));
}

async function readOrMakeKey(folder: string): Promise<Buffer> {
	const path = join(folder, KEY_FILE);
	if ((await readPrivate(path)) === undefined) {
		const made = randomBytes(KEY_BYTES).toString("base64url");
		await writePrivateFile(path, made, false).catch((error: NodeJS.ErrnoException) => {
			// Another svc has just made it.
			if (error.code !== "EEXIST") throw error;
		});
	}
	const key = Buffer.from((await readPrivate(path)) ?? "", "base64url");
	if (key.length !== KEY_BYTES) throw unusable("their key was altered");
	return key;
}

/** A file's text; undefined without the file. @throws Failure when others can read it */
async function readPrivate(path: string): Promise<string | undefined> {
	const file = await open(path).catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "ENOENT") throw error;
	});
	if (file === undefined) return undefined;
	try {
		if ((await file.stat()).mode & 0o077) throw unusable(`other users can read ${path}`);
		return await file.readFile("utf8");
	} finally {
		await file.close();
	}
}

function unseal(key: Buffer, sealed: Buffer, owner: Owner): CachedSecrets {
	const nonceAt = SALT_BYTES;
	const textAt = nonceAt + NONCE_BYTES;
	const tagAt = sealed.length - TAG_BYTES;
	try {
		const derived = deriveKey(key, sealed.subarray(0, nonceAt));
		const decipher = createDecipheriv("aes-256-gcm", derived, sealed.subarray(nonceAt, textAt), {
			authTagLength: TAG_BYTES,
		});
		decipher.setAAD(Buffer.from(nameOf(owner))).setAuthTag(sealed.subarray(tagAt));
		const plain = Buffer.concat([decipher.update(sealed.subarray(textAt, tagAt)), decipher.final()]);
		const content = JSON.parse(plain.toString("utf8"));
		const secrets = rows(content, "secrets").map((row) => ({ key: text(row, "key"), value: text(row, "value") }));
		return { secrets, age_ms: Date.now() - Number(content.read_at) };
	} catch {
		// Without the cause, which may quote the decrypted text.
		throw unusable("they or their key were altered");
	}
}

async function removeOld(folder: string): Promise<void> {
	// Includes what an interrupted write left behind.
	const names = (await readdir(folder)).filter((name) => name.includes(".sealed"));
	for (const path of names.map((name) => join(folder, name))) {
		// Another svc may be removing it.
		const mtimeMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY;
		if (Date.now() - mtimeMs > REMOVED_AFTER_MS) await rm(path, { force: true });
	}
}

const HINT = "without --offline they are read from the server, and kept again";

function nothingCached({ realm, environment }: Owner): Failure {
	return new Failure("failed", `no secrets of ${realm}/${environment} are kept for you here`, { hint: HINT });
}

function unusable(why: string): Failure {
	return new Failure("failed", `the secrets kept here cannot be used: ${why}`, { hint: HINT });
}
