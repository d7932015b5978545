import type { Fields } from "@svc/protocol";
import { AppError } from "../../errors.ts";
import type { ALLOWED_NAMES } from "../config/fields.ts";

/** Databases and namespaces that engines reach only if the configuration lists them by name. Design: §8 */
const PROTECTED = ["admin", "local", "config", "kube-system"];

/**
 * Reads the name that a request gives in a param; absent, null and empty are undefined.
 * @param refusal beginning of the engine's own refusal of unusable params
 * @throws AppError engine_error when it is no text
 */
export function requestedName(
	params: Fields,
	param: string,
	refusal: "parsing params" | "invalid params",
): string | undefined {
	const value = params[param];
	if (value === undefined || value === null || value === "") return undefined;
	if (typeof value !== "string") throw new AppError("engine_error", `${refusal}: ${param} must be a string`);
	return value;
}

/** Lists the names that a configuration allows besides its own. */
export function allowedNames(fields: Fields, name: keyof typeof ALLOWED_NAMES): readonly string[] {
	return (fields[name] as string[] | undefined) ?? [];
}

/**
 * Refuses a database or namespace that is neither the configuration's own nor listed there.
 * @throws AppError validation_failed
 * Design: §8
 */
export function refuseOtherNames(
	what: "database" | "namespace",
	name: string,
	own: string,
	listed: readonly string[],
): void {
	if (listed.includes(name) || (name === own && !PROTECTED.includes(name))) return;
	throw new AppError(
		"validation_failed",
		`this ${what} is not allowed: the instance admin can add it to allowed_${what}s in the engine's configuration`,
	);
}
