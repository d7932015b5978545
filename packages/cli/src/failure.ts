/** Exit codes of the process. The help documents them, and they never change. */
export const EXIT = {
	done: 0,
	failed: 1,
	usage: 2,
	denied: 3,
	notFound: 4,
	unreachable: 5,
	/** Codes of commands that run another program and otherwise pass on its exit code. */
	notRun: 125,
	notExecutable: 126,
	noSuchCommand: 127,
	interrupted: 130,
} as const;

/** Kinds of failure, named like their exit codes. */
export type FailureKind = Exclude<keyof typeof EXIT, "done">;

const CODES: Record<FailureKind, string> = {
	failed: "failed",
	usage: "usage",
	denied: "unauthorized",
	notFound: "not_found",
	unreachable: "unreachable",
	notRun: "not_run",
	notExecutable: "not_executable",
	noSuchCommand: "no_such_command",
	interrupted: "interrupted",
};

interface FailureDetails extends ErrorOptions {
	/** The next command to try. */
	readonly hint?: string | undefined;
	/** Code of the error object; by default one for the kind. */
	readonly code?: string;
	/** HTTP status of the server's answer; 0 when the server did not answer. */
	readonly status?: number;
}

/** Failure of a command: `message` says why, `hint` what to try. */
export class Failure extends Error {
	readonly kind: FailureKind;
	readonly hint: string | undefined;
	readonly code: string;
	readonly status: number;

	constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
		super(message, details);
		this.name = "Failure";
		this.kind = kind;
		this.hint = details.hint;
		this.code = details.code ?? CODES[kind];
		this.status = details.status ?? 0;
	}

	/** Exit code of the process. */
	get exitCode(): number {
		return EXIT[this.kind];
	}

	/** The server's error object; local failures have the status 0. Spec: API › Error object. */
	toJSON(): { error: { code: string; message: string; status: number } } {
		return { error: { code: this.code, message: this.message, status: this.status } };
	}
}
