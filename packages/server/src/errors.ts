import type { LeaseLimit, RowLimit } from "./limits.ts";

/**
 * Every error code that a caller can receive, with its HTTP status. The list is closed and published in OpenAPI.
 * Spec: API › Errors. Design: §7.
 */
export const STATUS = {
	bad_request: 400,
	invalid_json: 400,
	validation_failed: 400,
	missing_field: 400,
	password_too_short: 400,
	invalid_slug: 400,
	invalid_environment: 400,
	invalid_ciphertext: 400,
	invalid_limit: 400,
	invalid_cursor: 400,
	invalid_scope: 400,
	invalid_role: 400,
	invalid_ttl: 400,
	unsupported_operation: 400,
	engine_error: 400,
	engine_not_configured: 400,
	unauthorized: 401,
	invalid_credentials: 401,
	second_factor_required: 401,
	forbidden: 403,
	insufficient_scope: 403,
	registration_disabled: 403,
	registration_admin_only: 403,
	wrong_password: 403,
	wrong_code: 403,
	not_found: 404,
	method_not_allowed: 405,
	request_timeout: 408,
	conflict: 409,
	lease_limit_reached: 409,
	limit_reached: 409,
	payload_too_large: 413,
	rate_limited: 429,
	headers_too_large: 431,
	internal_error: 500,
	row_altered: 500,
	engine_unavailable: 503,
	provider_unavailable: 503,
	overloaded: 503,
	unhealthy: 503,
	store_unavailable: 503,
	database_altered: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** An error that a caller receives: `code` is stable, `message` is for people and never repeats input. */
export class AppError extends Error {
	readonly code: ErrorCode;
	/** Additional headers of the answer, such as `Retry-After` or `Allow`. */
	readonly headers: Record<string, string>;

	constructor(code: ErrorCode, message: string, options: ErrorOptions & { headers?: Record<string, string> } = {}) {
		super(message, options);
		this.name = "AppError";
		this.code = code;
		this.headers = options.headers ?? {};
	}

	/** HTTP status of the answer. */
	get status(): (typeof STATUS)[ErrorCode] {
		return STATUS[this.code];
	}

	/** The error object of the specification. Spec: API › Error object. */
	toJSON(): { error: { code: ErrorCode; message: string; status: number } } {
		return { error: { code: this.code, message: this.message, status: this.status } };
	}
}

/** A refusal because of a limit that metrics and `svc doctor` show; refusals are counted by the limit's name. Design: §13 */
export class LimitReached extends AppError {
	readonly limit: RowLimit | LeaseLimit;

	constructor(
		limit: RowLimit | LeaseLimit,
		message: string,
		code: "limit_reached" | "lease_limit_reached" = "limit_reached",
	) {
		super(code, message);
		this.limit = limit;
	}
}

/** A refusal of a list that takes too long to find, with what was found by then: a page of a list that has cursors. */
export class Unfinished extends AppError {
	readonly found: { rows: unknown[]; rest: string };

	/** @param found the rows, and the position of the others */
	constructor({ code, message, headers }: AppError, found: Unfinished["found"]) {
		super(code, message, { headers });
		this.found = found;
	}
}

/** An error after which the server cannot start or continue until a person acts: `message` says what to do, `exitCode` follows sysexits. */
export class FatalError extends Error {
	readonly exitCode: number;

	constructor(message: string, exitCode = 78, options?: ErrorOptions) {
		super(message, options);
		this.name = "FatalError";
		this.exitCode = exitCode;
	}
}

/** Makes the answer to every invalid session or token, whatever the reason. */
export function unauthorized(): AppError {
	return new AppError(
		"unauthorized",
		"a valid token is needed: sign in with `svc login`, or send an API token as Authorization: Bearer",
		{ headers: { "www-authenticate": "Bearer" } },
	);
}

/** Makes the error of work that nobody waits for any more. */
export function clientGone(): AppError {
	return new AppError("request_timeout", "the connection closed before the answer was made");
}
