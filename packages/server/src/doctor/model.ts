/** Result of a check. It contains no part of a secret. */
export interface Check {
	/** Name such as `clock`, or `keyvalue` for an engine. */
	name: string;
	/** `warning`: it works but should be changed. `failed`: somebody has to act. */
	status: "ok" | "warning" | "failed";
	/** Finding in a sentence. */
	message: string;
	/** Advice on what to do about it; empty when there is nothing to do. */
	hint: string;
}

/** Makes the result of a check that found no problem. */
export function ok(name: string, message: string): Check {
	return { name, status: "ok", message, hint: "" };
}
