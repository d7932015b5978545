/** What was looked at, and how it is. Nothing of a secret is in it. */
export interface Check {
	/** Such as `clock`, or `keyvalue` for an engine. */
	name: string;
	/** `warning`: it works, and should be otherwise. `failed`: somebody has to act. */
	status: "ok" | "warning" | "failed";
	/** What was found, in a sentence. */
	message: string;
	/** What to do about it; empty when there is nothing to be done. */
	hint: string;
}

/** Something was found to be well. */
export function ok(name: string, message: string): Check {
	return { name, status: "ok", message, hint: "" };
}
