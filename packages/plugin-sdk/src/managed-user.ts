import type { Fields } from "@svc/protocol";
import { expiresIn, managedName, newPassword } from "./credentials.ts";
import { EngineError, optionalText } from "./engine.ts";

/** Prefix of the users that engines make. Spec: ENGINES › Authentication */
const PREFIX = "svc_";
const MANAGED_NAME = /^svc_[0-9a-f]{8}$/;

/** A user that lives until its lease ends. */
export interface ManagedUser {
	username: string;
	password: string;
	/** RFC 3339 UTC. */
	expires_at: string;
}

/** Makes a user's name, password and end. @param ttl_ms milliseconds. Spec: ENGINES › keyvalue operations, documentdb operations */
export function newManagedUser(ttl_ms: number): ManagedUser {
	return { username: managedName(PREFIX), password: newPassword(), expires_at: expiresIn(ttl_ms) };
}

/**
 * Reads the `username` to revoke: exactly as `newManagedUser` makes it.
 * @param verb what would be done to the user, for the refusal
 * @throws EngineError `username is required` or `refusing to <verb> a non-managed user: …`
 * Spec: ENGINES › Errors
 */
export function readManagedUsername(params: Fields, verb: "delete" | "drop"): string {
	const username = optionalText(params, "username") ?? "";
	if (username === "") throw new EngineError("username is required");
	if (!MANAGED_NAME.test(username)) {
		throw new EngineError(
			`refusing to ${verb} a non-managed user: managed names are ${PREFIX} and 8 lowercase hex characters`,
		);
	}
	return username;
}
