import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";

/** A pipe to this process. Disposing of it closes both ends here. */
export interface Pipe extends Disposable {
	/** What is written to it. */
	readonly source: Readable;
	/** Descriptor of the end that is written to. */
	readonly fd: number;
	/** Closes that end here, once another process has it. */
	closeWriting(): void;
}

/**
 * Makes a pipe of the system's. Those that Node makes are sockets, which a program cannot open as `/dev/stdout`, as many a web server does.
 * @returns undefined where there is no mkfifo(1), or no folder for temporary files that can be written, as in many a container
 * @throws the system's error when it cannot be opened
 */
export function openPipe(): Pipe | undefined {
	const folder = makeFolder();
	if (folder === undefined) return undefined;
	try {
		const path = join(folder, "pipe");
		if (spawnSync("mkfifo", ["-m", "600", path]).status !== 0) return undefined;
		// In this order, because a writing end alone would be waited for.
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
