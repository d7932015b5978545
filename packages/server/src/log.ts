import type { System } from "./system.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LEVELS)[number];

/** The only fields that reach the log: bodies, headers and values never do. */
interface LogFields {
	request_id?: string;
	method?: string;
	/** The route's pattern, not the requested path. */
	route?: string;
	status?: number;
	/** Milliseconds. */
	duration_ms?: number;
	message?: string;
	address?: string;
	file?: string;
	/** Id of a realm. */
	realm_id?: string;
	/** Id of an account. */
	user_id?: string;
	/** Type of an engine. */
	engine?: string;
	/** Name of an identity provider. */
	provider?: string;
	/** Name of a machine account, and of its trust. */
	machine?: string;
	trust?: string;
	/** Why a JWT was refused, and the claim that differs as the trust names it. */
	reason?: string;
	place?: string;
	fingerprint?: string;
	count?: number;
	/** Last event of a checkpoint. */
	seq?: number;
	hash?: string;
	signature?: string;
	/** Names of what another program altered in the database. */
	altered?: string;
	error?: unknown;
}

export type Log = (level: LogLevel, event: string, fields?: LogFields) => void;

/** The names of the log levels, least severe first. */
export const LOG_LEVELS = LEVELS;

/**
 * Makes a log that writes one JSON object per line.
 * @param write receives each line, newline included
 */
export function createLog(minimum: LogLevel, system: Pick<System, "now">, write: (line: string) => void): Log {
	const threshold = LEVELS.indexOf(minimum);
	return (level, event, fields = {}) => {
		if (LEVELS.indexOf(level) < threshold) return;
		const { error, ...rest } = fields;
		const line = {
			time: system.now().toISOString(),
			level,
			event,
			...rest,
			...(error === undefined ? {} : { error: describe(error) }),
		};
		write(`${JSON.stringify(line)}\n`);
	};
}

/** Returns an error's name, code and stack. Our own messages never repeat input; a driver's may, so only its stack frames are kept. */
function describe(error: unknown): object {
	if (!(error instanceof Error)) return { name: typeof error };
	const frames = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
	return {
		name: error.name,
		...("code" in error ? { code: String(error.code) } : {}),
		stack: frames.slice(0, 8).map((line) => line.trim()),
		...(error.cause === undefined ? {} : { cause: describe(error.cause) }),
	};
}
