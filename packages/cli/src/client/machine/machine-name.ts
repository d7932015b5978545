import { Failure } from "../../failure.ts";

/** A machine and its realm. */
export interface MachineName {
	/** Slug. */
	readonly realm: string;
	readonly name: string;
}

/** Reads `realm/name`. @throws Failure usage when it is none */
export function parseMachine(text: string, source: string): MachineName {
	const [, realm, name] = /^([\w-]+)\/([\w.-]+)$/.exec(text) ?? [];
	if (realm === undefined || name === undefined)
		throw new Failure("usage", `${source} names a machine with its realm, such as shop/deploy`);
	return { realm, name };
}
