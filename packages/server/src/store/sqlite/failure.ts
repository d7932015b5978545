import { AppError, type ErrorCode, FatalError, unauthorized } from "../../errors.ts";

/** Exit code of a storage failure: EX_IOERR. Design: §4. */
export const STORAGE_EXIT_CODE = 74;

/** The storage can no longer be trusted: the process must stop and recover from the log. Design: §4. */
export class StorageFailure extends Error {
	readonly code: string;

	constructor(code: string) {
		super(`the database reported ${code}`);
		this.name = "StorageFailure";
		this.code = code;
	}
}

/** SQLite's code of an error, or `""`. */
export function codeOf(error: unknown): string {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Returns the code of a failure to write a file: that of a full disk is the file system's. */
export function codeOfFile(code: string): string {
	return code === "SQLITE_FULL" ? "ENOSPC" : code;
}

/** Tells whether an error concerns the whole file: unreadable, unwritable, or broken. */
export function isFatal(code: string): boolean {
	return /^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|PROTOCOL|NOMEM)/.test(code);
}

/** Answer to a caller who has lost the right to a change, as a rule would give it. */
export function refusedAs({ code, message }: { code: ErrorCode; message: string }): AppError {
	return code === "unauthorized" ? unauthorized() : new AppError(code, message);
}

/** Answer while the disk is full. */
export function diskFull(): AppError {
	return new AppError("unhealthy", "the server's disk is full: nothing was changed; free space on it and try again");
}

/** Answer while another program locks the database. */
export function busy(): AppError {
	return new AppError(
		"unhealthy",
		"another program has locked the server's database, so nothing was changed: stop it, then try again",
	);
}

/** Error that says why the server cannot start with this database, and what to do. */
export function cannotOpen(file: string, code: string): FatalError {
	if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT")) {
		return new FatalError(
			`${file} is damaged, or not a database (${code}): restore it from a backup`,
			STORAGE_EXIT_CODE,
		);
	}
	if (code.startsWith("SQLITE_IOERR")) {
		return new FatalError(
			`${file} cannot be read or written (${code}): check the disk, then start again`,
			STORAGE_EXIT_CODE,
		);
	}
	if (code.startsWith("SQLITE_BUSY")) {
		return new FatalError(`another program has locked ${file}: stop it, then start again`, STORAGE_EXIT_CODE);
	}
	const hint =
		"make it and its directory writable for the user that runs the server, and check that the disk has space";
	return new FatalError(`${file} cannot be opened (${code || "unknown"}): ${hint}`, STORAGE_EXIT_CODE);
}
