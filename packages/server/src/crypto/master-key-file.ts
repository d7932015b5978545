import { closeSync, constants, existsSync, fstatSync, openSync, promises, readFileSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { createDurably, draftOf, syncDirectory, writeDurably } from "../durable-file.ts";
import { AppError, FatalError } from "../errors.ts";
import type { MasterKeyHome } from "./rotation.ts";
import { masterFingerprint } from "./wrap.ts";
import { KEY_BYTES } from "./xaes.ts";

const ROOT = 0;
const OTHERS = 0o077;
const READ_ONLY = 0o400;
/** Far more than any form of a key needs. */
const MAX_FILE_BYTES = 1024;
const NOT_WRITABLE = new Set(["EACCES", "EPERM", "EROFS"]);
const FORMS = "32 random bytes, 64 hexadecimal digits, or the base64 of 32 bytes";

/**
 * Reads a master key written as text: 64 hexadecimal digits, or base64 or base64url of 32 bytes, with or without a newline.
 * @param where the source's name in the message
 * @throws FatalError that names the accepted forms and reveals none of the content
 */
export function parseKeyText(content: string, where: string): Buffer {
	const text = content.replace(/\r?\n$/, "");
	if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, "hex");
	const bytes = /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : undefined;
	const canonical = text.replace("=", "").replaceAll("+", "-").replaceAll("/", "_");
	if (bytes?.toString("base64url") !== canonical)
		throw new FatalError(`${where} is not a master key: it must be ${FORMS}`);
	return bytes;
}

/**
 * Reads the master key from a file, where it may also be 32 raw bytes.
 * @param owner user id that must own the file, unless root does; nobody else may read it. Undefined for systemd's credentials, guarded in another way
 * @returns undefined when there is no such file
 * @throws FatalError saying what to do
 */
export async function readKeyFile(file: string, owner: number | undefined): Promise<Buffer | undefined> {
	const content = readSmallFile(file, owner);
	if (content?.length !== KEY_BYTES) return content && parseKeyText(content.toString("latin1"), file);
	// 32 printable characters are a password or half a key; random bytes look like this once in 10^14.
	if (content.every((byte) => byte >= 0x20 && byte < 0x7f)) {
		throw new FatalError(`${file} holds 32 characters of text: a master key is ${FORMS}`);
	}
	return content;
}

/** Makes a file of mode 0400 with a new key, durably; never replaces a file. */
export function createKeyFile(file: string, key: Buffer): void {
	createDurably(file, textOf(key), READ_ONLY);
}

/** Makes the home of a master key in a file. During a rotation the next key is next to it, in FILE.next. */
export function masterKeyHome(file: string): MasterKeyHome {
	const staged = stagedBeside(file);
	return {
		async stage(next) {
			// An interrupted first start may have left a copy of the present key, which must not outlive it.
			await promises.rm(draftOf(file), { force: true });
			if (existsSync(staged)) throw new AppError("conflict", `${staged} already exists: move it elsewhere`);
			writeStaged(staged, next);
		},
		async settle(fingerprint) {
			// Left by a rotation that was interrupted while it wrote the next key.
			if (existsSync(draftOf(staged))) await promises.rm(draftOf(staged));
			const next = readSmallFile(staged, undefined);
			if (next === undefined) return;
			if ((await fingerprintIn(file)) === fingerprint) await promises.rm(staged);
			else if ((await fingerprintIn(staged)) === fingerprint) await promises.rename(staged, file);
			syncDirectory(dirname(file));
		},
	};
}

/** Names the file of the next key during a rotation. */
export function stagedBeside(file: string): string {
	return `${file}.next`;
}

async function fingerprintIn(file: string): Promise<string | undefined> {
	try {
		const key = await readKeyFile(file, undefined);
		return key && masterFingerprint(key);
	} catch (error) {
		// The file was cut off in writing, so nothing is wrapped under its key.
		if (error instanceof FatalError) return undefined;
		throw error;
	}
}

/** Reads synchronously: for so few bytes a round trip to another thread takes longer, and every start would pay it. */
function readSmallFile(file: string, owner: number | undefined): Buffer | undefined {
	const handle = openSmallFile(file);
	if (handle === undefined) return undefined;
	try {
		const stat = fstatSync(handle);
		if (!stat.isFile() || stat.size > MAX_FILE_BYTES) {
			throw new FatalError(`${file} is not a master key: it must be a file with ${FORMS}`);
		}
		if (owner !== undefined) refuseForeign(file, stat, owner);
		return readFileSync(handle);
	} finally {
		closeSync(handle);
	}
}

function openSmallFile(file: string): number | undefined {
	try {
		// Without blocking: a pipe in the file's place must not block the start forever.
		return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOENT") return undefined;
		throw new FatalError(`${file} cannot be read (${code}): make it readable for the user that runs the server`);
	}
}

function refuseForeign(file: string, { uid, mode }: Stats, owner: number): void {
	if (uid !== owner && uid !== ROOT) {
		throw new FatalError(`${file} belongs to another user: run chown on it, then chmod 0400 ${file}`);
	}
	if ((mode & OTHERS) !== 0) throw new FatalError(`${file} is accessible to other users: run chmod 0400 ${file}`);
}

/** Writes the next key. @throws AppError conflict when its folder is not writable */
function writeStaged(file: string, key: Buffer): void {
	try {
		writeDurably(file, textOf(key), READ_ONLY);
	} catch (error) {
		const { code = "" } = error as NodeJS.ErrnoException;
		if (!NOT_WRITABLE.has(code)) throw error;
		throw new AppError(
			"conflict",
			`${file} cannot be written (${code}): make its folder writable for the user that runs the server, or provide the next master key in next_master_key_file`,
		);
	}
}

function textOf(key: Buffer): string {
	return `${key.toString("hex")}\n`;
}
