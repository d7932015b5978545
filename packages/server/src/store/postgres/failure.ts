import { AppError, FatalError } from "../../errors.ts";
import type { StoreReason } from "../../health/model.ts";
import { storeUnavailable } from "../errors.ts";
import { UnsuitableDatabase } from "../unsuitable.ts";
import { ConnectionLost } from "./connection.ts";

/** Five letters and digits that PostgreSQL names an error by. */
const CODE = /^[0-9A-Z]{5}$/;

/** SQLSTATE of a database that lacks a resource such as space on its disk, that cannot be written, where another program holds a lock, or that was too slow. */
const UNABLE = /^(53|58|25006|55P03|57014)/;

/** SQLSTATE of a text that PostgreSQL cannot hold. */
const ODD_TEXT = "22021";

/** Makes an error of the database one that says no more than its code: its text may hold what was written. */
export function harmless(error: unknown): Error {
	if (!(error instanceof Error)) return new Error("the database failed");
	if (error instanceof AppError) return error;
	if (isUnable(error)) return storeUnavailable(error instanceof ConnectionLost ? error : new Error(codeOf(error)));
	const code = codeOf(error);
	if (code === ODD_TEXT) return new AppError("validation_failed", "text must not contain the character U+0000");
	return CODE.test(code) ? new Error(`the database refused the change: ${code}`) : error;
}

/** Tells whether the database cannot work now, for a reason outside of what was asked. */
export function isUnable(error: unknown): boolean {
	return error instanceof ConnectionLost || UNABLE.test(codeOf(error));
}

/** Codes of errors, and the reason that each stands for. */
const REASONS: readonly (readonly [code: RegExp, reason: StoreReason])[] = [
	[/^57P/, "starting"],
	[/^(28|3D|42501)/, "refused"],
	[/CERT|SIGNATURE|^ERR_(TLS|SSL)/, "certificate"],
	[/^53300/, "too_many_connections"],
	[/^53100/, "full"],
	[/^25006/, "read_only"],
	[/^55P03/, "locked"],
	[/^57014/, "slow"],
	[/^5[38]/, "resources"],
];

/** Names the reason why the database does not work, of an error of a connection or a statement. */
export function reasonOf(error: unknown): StoreReason {
	if (error instanceof UnsuitableDatabase) return error.reason;
	if (error instanceof FatalError) return "unsuitable";
	const code = codeOf(error);
	return REASONS.find(([codes]) => codes.test(code))?.[1] ?? "unreachable";
}

function codeOf(error: unknown): string {
	return error instanceof Error && "code" in error ? String(error.code) : "";
}
