/** Kind of an operation: on a secret (write, read), a token (revoke), a role in a realm (bind, unbind, look) or a credential (generate, end). */
export type Kind = "write" | "read" | "revoke" | "bind" | "unbind" | "look" | "generate" | "end";

/**
 * Outcome of an operation, as its caller knows it: `unknown` when no answer came, or one that cannot tell; `void` when the answer says that nothing
 * was changed.
 */
type Outcome = "done" | "refused" | "void" | "unknown";

/** An operation of a client, with the moments of its start and its answer. */
export interface Operation {
	readonly kind: Kind;
	/** The secret's key, the token's id, the realm whose role it is, or the name of the credential. */
	readonly subject: string;
	/** Server that it was sent to. */
	readonly node: number;
	/** Id of the token that it was sent with, where that is not the one of the whole run. */
	readonly token: string | undefined;
	/** Value that it wrote or read. */
	readonly value: string | undefined;
	/** Version that it wrote or read. */
	readonly version: number | undefined;
	/** Status of the answer; 0 when none came. */
	readonly status: number;
	readonly outcome: Outcome;
	/** Id of the request; undefined when no answer came. */
	readonly request_id: string | undefined;
	readonly start_ms: number;
	/** Infinity when no answer came. */
	readonly end_ms: number;
}

/** An event of the audit log. */
export interface Logged {
	readonly type: string;
	/** Slug of its realm. */
	readonly realm?: string;
	readonly request_id?: string;
	readonly key?: string;
	readonly version?: number;
	readonly lease_id?: string;
	readonly name?: string;
}

/** A server's removal of a credential at its target. */
export interface Removal {
	readonly name: string;
	/** Process that removed it. */
	readonly pid: number;
	/** By the clock that all processes of a machine share. */
	readonly start_ms: number;
	/** Undefined when its server ended before it. */
	readonly end_ms: number | undefined;
}

/** Groups operations by their subject. */
export function bySubject(operations: readonly Operation[], ...kinds: readonly Kind[]): Map<string, Operation[]> {
	return Map.groupBy(
		operations.filter(({ kind }) => kinds.includes(kind)),
		({ subject }) => subject,
	);
}

/** Describes an operation in one line. */
export function describe({ kind, subject, node, version, status, start_ms, end_ms }: Operation): string {
	const what = version === undefined ? subject : `${subject} version ${version}`;
	return `${kind} ${what} on server ${node}: ${status}, ${start_ms.toFixed(1)} to ${end_ms.toFixed(1)} ms`;
}
