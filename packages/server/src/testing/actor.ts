import type { Account } from "../accounts/model.ts";
import { type Actor, SCOPES } from "../policy/model.ts";

/** Makes a user who signed in with a password: every scope, no restriction. */
export function anActor(given: Partial<Actor> = {}): Actor {
	return {
		user_id: "user",
		email: "user@example.com",
		name: "User",
		instance_admin: false,
		machine: undefined,
		payer: given.user_id ?? "user",
		scopes: SCOPES,
		purpose: undefined,
		token_id: undefined,
		jti: "session",
		realm_id: null,
		environment: null,
		engines: null,
		expires_at: null,
		grants: [],
		request_id: "request",
		ip: "192.0.2.1",
		...given,
	};
}

/** Makes the account's owner, signed in. */
export function actorOf({ id, email, name }: Account, given: Partial<Actor> = {}): Actor {
	return anActor({ user_id: id, email, name, ...given });
}
