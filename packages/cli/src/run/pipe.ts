import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";

/** A pipe to this process. Disposing of it closes both ends here. */
export interface Pipe extends Disposable {
	/** Reads what is written to it. */
	readonly source: Readable;
	/** Descriptor of the writing end. */
	readonly fd: number;
	/** Closes the writing end here, once another process has it. */
	closeWriting(): void;
}

/**
 * Makes a system pipe. Node's own are sockets, which a program cannot open as `/dev/stdout`, as many web servers do.
 * @returns undefined without mkfifo(1), or without a writable folder for temporary files, as in many containers
 * @throws the system's error when it cannot be opened
 */
export function openPipe(): Pipe | undefined {
	const folder = makeFolder();
	if (folder === undefined) return undefined;
	try {
		const path = join(folder, "pipe");
		if (spawnSync("mkfifo", ["-m", "600", path]).status !== 0) return undefined;
		// In this order, because opening the writing end alone would wait.
		const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		const fd = openSync(path, "w");
		const source = new Socket({ fd: reading, readable: true, writable: false });
		const closeWriting = () => closeSync(fd);
		const close = () => {
			closeWriting();
			source.destroy();
		};
		return { source, fd, closeWriting, [Symbol.dispose]: close };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function makeFolder(): string | undefined {
	try {
		return mkdtempSync(join(tmpdir(), "svc-"));
	} catch {
		return undefined;
	}
}
