import { SESSION_SECONDS, type SessionTokens } from "../crypto/session.ts";
import type { System } from "../system.ts";
import type { Session } from "./model.ts";

/** Dependencies of making a session. */
export interface SessionNeeds {
	system: Pick<System, "now" | "uuid">;
	sessions: SessionTokens;
}

/** A session that is signed but not yet stored, and its end in Unix seconds. */
export interface NewSession {
	token: string;
	expires_at: number;
	session: Session;
}

/**
 * Signs a session of an account; it is valid once the store has it.
 * @param provider the provider at which its owner signed in; empty for a password
 * @param confirmed_ms when its owner signed in there, in Unix milliseconds, if that is known
 * Spec: API › Limits
 */
export async function newSession(
	{ system, sessions }: SessionNeeds,
	user_id: string,
	provider = "",
	confirmed_ms?: number,
): Promise<NewSession> {
	const now = system.now();
	const iat = Math.floor(now.getTime() / 1000);
	const exp = iat + SESSION_SECONDS;
	const jti = system.uuid();
	const auth_time = confirmed_ms === undefined ? undefined : Math.floor(confirmed_ms / 1000);
	const token = await sessions.sign({ sub: user_id, jti, iat, exp, auth_time });
	const expires_at = new Date(exp * 1000).toISOString();
	const session = { jti, user_id, created_at: now.toISOString(), expires_at, provider };
	return { token, expires_at: exp, session };
}
