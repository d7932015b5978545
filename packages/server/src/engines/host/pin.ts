import { createHash } from "node:crypto";
import {
	closeSync,
	constants,
	fstatSync,
	mkdirSync,
	openSync,
	readSync,
	realpathSync,
	rmSync,
	type Stats,
	statSync,
	writeSync,
} from "node:fs";
import { join, sep } from "node:path";
import process from "node:process";
import type { Descriptor } from "@svc/protocol";

const MAX_EXECUTABLE_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/** Write permission of the group and of others. */
const WRITABLE_BY_OTHERS = 0o022;

/** Refusal of an engine, with the reason as message. */
export class Refusal extends Error {
	override readonly name = "Refusal";
}

/** @throws Refusal when anybody but the server's user and root may change a file or folder */
export function refuseWritableByOthers(path: string, what: string): void {
	refuseStat(statSync(path), what);
}

function refuseStat({ mode, uid }: Stats, what: string): void {
	if ((mode & WRITABLE_BY_OTHERS) !== 0) throw new Refusal(`${what} can be written by its group or by others`);
	if (uid !== 0 && uid !== process.getuid?.()) throw new Refusal(`${what} must belong to the server's user or to root`);
}

/**
 * Copies an engine's program, and checks the copied bytes: exactly the bytes with the known hash run, whatever happens to the original. The
 * copy keeps the file's name, because interpreters look at its extension.
 * @param folder the engine's folder
 * @param target folder to make for the copy
 * @returns the copy
 * @throws Refusal
 * Design: §8
 */
export function pinExecutable(folder: string, { executable, sha256 }: Descriptor, target: string): string {
	if (executable === undefined) throw new Refusal("plugin.json names no executable");
	if (sha256 === undefined) throw new Refusal("plugin.json has no sha256 for its executable");
	const source = openExecutable(folder, executable);
	mkdirSync(target, { recursive: true, mode: 0o700 });
	const copy = join(target, executable);
	try {
		if (copyAndHash(source, copy) === sha256) return copy;
	} finally {
		closeSync(source);
	}
	rmSync(target, { recursive: true });
	throw new Refusal("the executable's sha256 differs from the one in plugin.json");
}

/** Opens the file once, and makes every check on the opened file. */
function openExecutable(folder: string, executable: string): number {
	const file = realpathSync(join(folder, executable));
	if (!file.startsWith(realpathSync(folder) + sep))
		throw new Refusal("the executable is a link to a file outside its folder");
	const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
	const handle = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	try {
		const stat = fstatSync(handle);
		if (!stat.isFile()) throw new Refusal("the executable is not a regular file");
		refuseStat(stat, "the executable");
		if (stat.size > MAX_EXECUTABLE_BYTES) throw new Refusal("the executable is larger than 256 MiB");
		return handle;
	} catch (error) {
		closeSync(handle);
		throw error;
	}
}

/** @returns SHA-256 of the bytes written, in hex */
function copyAndHash(source: number, copy: string): string {
	const hash = createHash("sha256");
	const target = openSync(copy, "wx", 0o500);
	const chunk = Buffer.alloc(CHUNK_BYTES);
	try {
		for (let total = 0; total <= MAX_EXECUTABLE_BYTES; ) {
			const part = chunk.subarray(0, readSync(source, chunk));
			if (part.length === 0) break;
			hash.update(part);
			writeSync(target, part);
			total += part.length;
		}
	} finally {
		closeSync(target);
	}
	return hash.digest("hex");
}
