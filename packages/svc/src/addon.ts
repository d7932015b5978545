import { existsSync, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { getRawAsset } from "node:sea";
import { threadId } from "node:worker_threads";
import { writeDurably } from "@svc/server/durable-file";
import { FatalError } from "@svc/server/errors";
import { hashFileSync } from "@svc/server/file-hash";

/** Exit code EX_CANTCREAT. */
const CANNOT_CREATE = 73;

const REMEDY = "set XDG_CACHE_HOME to a folder of yours on a file system that allows programs to start";

/**
 * Loads a native library out of the single binary; the bundler puts a call of this in place of each `.node` file. The system loads
 * libraries from files only: the file lies under its hash next to the binary where somebody has installed it, as in the container image, or in a
 * private folder. It is hashed at every start, and rewritten in the private folder when it differs.
 * @param name its asset, which begins with its SHA-256
 * @throws FatalError when no file can be made or loaded there
 */
export function loadAddon(name: string): unknown {
	const file = installed(name) ?? unpacked(name);
	const addon = { exports: {} };
	try {
		process.dlopen(addon, file);
	} catch (cause) {
		throw cannotLoad(dirname(file), cause);
	}
	return addon.exports;
}

/** The file in `../lib/svc` of the binary's folder, if nobody but root and the binary's owner can put another in its place. */
function installed(name: string): string | undefined {
	const file = join(dirname(process.execPath), "..", "lib", "svc", name);
	if (!existsSync(file) || realpathSync(file) !== file) return undefined;
	const owners = new Set([0, statSync(process.execPath).uid]);
	for (let path = file; ; path = dirname(path)) {
		const { mode, uid } = statSync(path);
		if (!owners.has(uid) || (mode & 0o022) !== 0) return undefined;
		if (path === "/") return hasItsHash(file, name) ? file : undefined;
	}
}

/** The file in the private folder. @throws FatalError when it cannot be made there */
function unpacked(name: string): string {
	const file = join(privateFolder(), name);
	if (!hasItsHash(file, name)) write(file, Buffer.from(getRawAsset(name)));
	return file;
}

/** Tells whether the file has the hash that its name begins with. */
function hasItsHash(file: string, name: string): boolean {
	return name.startsWith(`${sha256Of(file)}-`);
}

/** Names the likely cause: in a folder from which programs cannot start, the loader fails to map a segment. */
function cannotLoad(folder: string, cause: unknown): FatalError {
	const { message } = cause as Error;
	const why = message.includes("failed to map segment")
		? `${folder} is on a file system that does not allow programs to start (noexec): ${REMEDY}`
		: `a native library cannot be loaded: ${message}; svc needs glibc 2.34 or newer, libstdc++ and libgcc`;
	return new FatalError(why, CANNOT_CREATE, { cause });
}

/**
 * The folder that systemd made for the service, the user's cache, or a private folder of the user among the temporary files.
 * @throws FatalError when it cannot be made, or somebody else could write there
 */
function privateFolder(): string {
	const folder = chooseFolder();
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
	} catch (cause) {
		throw new FatalError(`${folder} cannot be created: ${REMEDY}`, CANNOT_CREATE, { cause });
	}
	const { mode, uid } = lstatSync(folder);
	if (uid !== process.geteuid?.() || (mode & 0o077) !== 0)
		throw new FatalError(
			`${folder} is not a folder that only this user can access: remove it, or ${REMEDY}`,
			CANNOT_CREATE,
		);
	return folder;
}

function chooseFolder(): string {
	// biome-ignore lint/style/noProcessEnv: threads come here by themselves
	const { CACHE_DIRECTORY, RUNTIME_DIRECTORY, XDG_CACHE_HOME } = process.env;
	const ofService = (CACHE_DIRECTORY ?? RUNTIME_DIRECTORY)?.split(":")[0];
	if (ofService !== undefined) return join(ofService, "native");
	if (XDG_CACHE_HOME?.startsWith("/")) return join(XDG_CACHE_HOME, "svc");
	return home() ?? join(tmpdir(), `svc-${process.geteuid?.()}`);
}

function home(): string | undefined {
	try {
		const folder = homedir();
		return lstatSync(folder).uid === process.geteuid?.() ? join(folder, ".cache", "svc") : undefined;
	} catch {
		// A service's user may have none.
		return undefined;
	}
}

/** @returns in hex; undefined when it cannot be read */
function sha256Of(file: string): string | undefined {
	try {
		// A comparison with the binary's own bytes would keep both in memory.
		return hashFileSync(file);
	} catch {
		return undefined;
	}
}

/** Several processes and threads may write it. */
function write(file: string, bytes: Buffer): void {
	try {
		writeDurably(file, bytes, 0o500, `${file}.${process.pid}-${threadId}`);
	} catch (cause) {
		throw new FatalError(`${file} cannot be written: free 4 MB on its disk, or ${REMEDY}`, CANNOT_CREATE, { cause });
	}
}
