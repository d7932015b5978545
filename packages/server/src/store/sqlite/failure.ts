import { AppError } from "../../errors.ts";

/** Exit code of a storage failure: EX_IOERR. Design: §4. */
export const STORAGE_EXIT_CODE = 74;

/** SQLite's code of an error, or `""`. */
export function codeOf(error: unknown): string {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether an error concerns the whole file: unreadable, unwritable, or broken. */
export function isFatal(code: string): boolean {
	return /^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|PROTOCOL|NOMEM)/.test(code);
}

/** The answer while the disk is full. */
export function diskFull(): AppError {
	return new AppError("unhealthy", "the server's disk is full: nothing was changed; free space on it and try again");
}

/** The answer once the storage failed. */
export function storageUnavailable(): AppError {
	return new AppError("unhealthy", "the server's storage failed and the server is stopping: nothing was changed");
}
