import type { AccountStore } from "../accounts/model.ts";
import { tokenDigest } from "../crypto/api-token.ts";
import type { SessionTokens } from "../crypto/session.ts";
import { unauthorized } from "../errors.ts";
import { hasExpired } from "../expiry.ts";
import { type RefusalNeeds, refuseMachine } from "../policy/authorize.ts";
import { type Actor, SCOPES, type Scope } from "../policy/model.ts";
import type { System } from "../system.ts";
import type { TokenStore } from "../tokens/model.ts";

/** Dependencies of authentication. */
export interface IdentityNeeds {
	store: RefusalNeeds["store"] & {
		accounts: Pick<AccountStore, "sessionOwner">;
		tokens: Pick<TokenStore, "owner" | "used">;
	};
	system: System;
	sessions: SessionTokens;
	/** Last noted use of each token: its id to milliseconds. */
	noted: Pick<Map<string, number>, "get"> & { set(id: string, at: number): unknown };
}

const BEARER = /^bearer +([\x21-\x7e]+) *$/i;

/** Milliseconds by which the last use of a token may be out of date. */
const LAST_USE_MS = 60_000;

/** Identifies the caller of a request. @param forMachines whether machines may make it @throws AppError unauthorized, forbidden (a machine) */
export type Identify = (
	authorization: string | undefined,
	request_id: string,
	ip: string,
	forMachines?: boolean,
) => Promise<Actor>;

/**
 * Makes the function that identifies callers. Every invalid token gets the same answer, whatever the reason.
 * Spec: API › Authentication
 */
export function createIdentify(needs: IdentityNeeds): Identify {
	return async (authorization, request_id, ip, forMachines = false) => {
		const token = BEARER.exec(authorization ?? "")?.[1];
		const identity = token === undefined ? undefined : await findIdentity(needs, token);
		if (identity === undefined) throw unauthorized();
		const actor = { ...identity, grants: [], request_id, ip };
		if (actor.machine !== undefined && !forMachines) throw await refuseMachine(needs, actor);
		return actor;
	};
}

type Identity = Omit<Actor, "request_id" | "ip" | "grants">;

function findIdentity(needs: IdentityNeeds, token: string): Promise<Identity | undefined> {
	return token.startsWith("svc_") ? byApiToken(needs, token) : bySession(needs, token);
}

async function byApiToken(needs: IdentityNeeds, token: string): Promise<Identity | undefined> {
	const digest = tokenDigest(token);
	const owner = digest && (await needs.store.tokens.owner(digest));
	if (owner === undefined) return undefined;
	const now = needs.system.now();
	if (hasExpired(owner.expires_at, now.toISOString())) return undefined;
	noteUse(needs, owner.id, now);
	const { id, user_id, email, name, instance_admin, machine, realm_id, environment, engines, expires_at } = owner;
	const scopes = owner.scopes.split(",") as Scope[];
	return {
		user_id,
		email,
		name,
		instance_admin,
		machine,
		scopes,
		token_id: id,
		jti: undefined,
		realm_id,
		environment,
		engines: engines === null ? null : (JSON.parse(engines) as string[]),
		expires_at,
	};
}

/** Records a token's last use, at most once a minute, without delaying the request. */
function noteUse({ store, noted }: IdentityNeeds, id: string, now: Date): void {
	if (now.getTime() - (noted.get(id) ?? 0) < LAST_USE_MS) return;
	noted.set(id, now.getTime());
	store.tokens.used({ id, at: now.toISOString() }).catch(() => undefined);
}

async function bySession({ store, system, sessions }: IdentityNeeds, token: string): Promise<Identity | undefined> {
	const claims = await sessions.verify(token);
	const owner = claims && (await store.accounts.sessionOwner(claims.jti, claims.sub, system.now().toISOString()));
	if (owner === undefined) return undefined;
	const unrestricted = { realm_id: null, environment: null, engines: null, expires_at: null };
	return { ...owner, machine: undefined, scopes: SCOPES, token_id: undefined, jti: claims?.jti, ...unrestricted };
}
