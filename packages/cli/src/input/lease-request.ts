import { Failure } from "../failure.ts";
import { lifetimesInHours } from "./duration.ts";
import { parseParam } from "./fields.ts";

/** A credential to request for a program. */
export interface LeaseRequest {
	/** Prefix of its variables' names. */
	readonly prefix: string;
	/** Type of the engine. */
	readonly type: string;
	/** Role, ttl and further parameters for the engine. */
	readonly params: Readonly<Record<string, unknown>>;
}

/**
 * Reads `[name=]engine:role[,param=value…]`.
 * @param option that it was given to
 * @throws Failure usage when it is something else; the message repeats none of it
 */
export function parseLease(text: string, option = "--lease"): LeaseRequest {
	const [head = "", ...params] = text.split(",");
	const [, name, type, role] = /^(?:([A-Za-z_]\w*)=)?([a-z][a-z0-9_-]*):([\w.-]+)$/.exec(head) ?? [];
	const pairs = params.map((param) => /^([^=]+)=(.*)$/s.exec(param));
	if (type === undefined || role === undefined || pairs.includes(null)) {
		throw new Failure(
			"usage",
			`${option} takes engine:role, as in keyvalue:readonly,ttl=30m or cache=keyvalue:readonly`,
			{
				hint: "`svc engine list` shows the engines",
			},
		);
	}
	const given = pairs.map((pair) => [pair?.[1] ?? "", parseParam(pair?.[2] ?? "")] as const);
	return { prefix: name ?? type, type, params: { ...lifetimesInHours(Object.fromEntries(given)), role } };
}
