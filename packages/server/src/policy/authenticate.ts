import type { AccountStore } from "../accounts/model.ts";
import { tokenDigest } from "../crypto/api-token.ts";
import type { SessionTokens } from "../crypto/session.ts";
import { AppError, unauthorized } from "../errors.ts";
import { hasExpired } from "../expiry.ts";
import type { FactorStore, SecondFactor } from "../factors/model.ts";
import type { Identify } from "../http/route.ts";
import type { Awaitable } from "../operation.ts";
import type { System } from "../system.ts";
import { FOR_BACKUPS, type TokenOwner, type TokenStore } from "../tokens/model.ts";
import { logRefusal, type RefusalNeeds, refuseBackupToken, refuseMachine } from "./authorize.ts";
import { type Actor, MAX_AGENT, SCOPES, type Scope } from "./model.ts";

/** Dependencies of authentication. */
export interface IdentityNeeds {
	store: RefusalNeeds["store"] & {
		accounts: Pick<AccountStore, "sessionOwner" | "noteUse">;
		factors: Pick<FactorStore, "isLacking">;
		tokens: Pick<TokenStore, "owner" | "used">;
	};
	system: System;
	sessions: SessionTokens;
	/** Those whose sessions need a second factor; nobody's by default. */
	second_factor?: SecondFactor;
	/** Last noted use of each token or session: its id to milliseconds. */
	noted: Pick<Map<string, number>, "get"> & { set(id: string, at: number): unknown };
}

const BEARER = /^bearer +([\x21-\x7e]+) *$/i;

/** Milliseconds by which the last use of a token or session may be out of date. */
const LAST_USE_MS = 60_000;

/**
 * Makes the function that identifies callers. Every invalid token gets the same answer, whatever the reason.
 * Spec: API › Authentication
 */
export function createIdentify(needs: IdentityNeeds): Identify {
	return async (authorization, request_id, ip, { forMachines, forBackups, forNewFactor } = {}, agent = "") => {
		const token = BEARER.exec(authorization ?? "")?.[1];
		const identity = token === undefined ? undefined : await findIdentity(needs, token);
		if (identity === undefined) throw unauthorized();
		const actor = { ...identity, grants: [], request_id, ip };
		noteSession(needs, actor, agent);
		if (actor.machine !== undefined && forMachines !== true) throw await refuseMachine(needs, actor);
		if (actor.purpose !== undefined && forBackups !== true) throw await refuseBackupToken(needs, actor);
		if (forNewFactor !== true && (await lacksFactor(needs, actor)))
			throw await logRefusal(needs, actor, noFactor(), "second_factor");
		return actor;
	};
}

/** Tells whether a caller has a session only, where the server requires a second factor in addition to the password. Providers ask for their own. Design: §16 */
export async function lacksFactor(
	{ store, second_factor = "off" }: FactorCheckNeeds,
	{ jti, user_id, instance_admin }: Pick<Actor, "jti" | "user_id" | "instance_admin">,
): Promise<boolean> {
	const isRequired = second_factor === "all" || (second_factor === "admins" && instance_admin);
	return isRequired && jti !== undefined && store.factors.isLacking(jti, user_id);
}

function noFactor(): AppError {
	return new AppError("forbidden", "this server requires a second factor: add one with `svc factor add`");
}

type Identity = Omit<Actor, "request_id" | "ip" | "grants">;

function findIdentity(needs: IdentityNeeds, token: string): Awaitable<Identity | undefined> {
	return token.startsWith("svc_") ? byApiToken(needs, token) : bySession(needs, token);
}

function byApiToken(needs: IdentityNeeds, token: string): Awaitable<Identity | undefined> {
	const digest = tokenDigest(token);
	const owner = digest && needs.store.tokens.owner(digest);
	return owner instanceof Promise ? owner.then((found) => identityOf(needs, found)) : identityOf(needs, owner);
}

function identityOf(needs: IdentityNeeds, owner: TokenOwner | undefined): Identity | undefined {
	if (owner === undefined) return undefined;
	const now = needs.system.now();
	if (hasExpired(owner.expires_at, now)) return undefined;
	noteUse(needs, owner.id, now);
	const { id, user_id, email, name, instance_admin, machine, payer, realm_id, environment, engines, expires_at } =
		owner;
	const isForBackups = owner.scopes === FOR_BACKUPS;
	return {
		user_id,
		email,
		name,
		instance_admin,
		machine,
		payer,
		scopes: isForBackups ? [] : scopesIn(owner.scopes),
		purpose: isForBackups ? FOR_BACKUPS : undefined,
		token_id: id,
		jti: undefined,
		realm_id,
		environment,
		engines: engines === null ? null : (JSON.parse(engines) as string[]),
		expires_at,
	};
}

/** Scopes by their text: there are few. */
const SCOPES_BY_TEXT = new Map<string, readonly Scope[]>();

function scopesIn(text: string): readonly Scope[] {
	const known = SCOPES_BY_TEXT.get(text);
	if (known !== undefined) return known;
	const scopes = text.split(",") as Scope[];
	SCOPES_BY_TEXT.set(text, scopes);
	return scopes;
}

/** Records a token's last use, at most once a minute, without delaying the request. */
function noteUse({ store, noted }: IdentityNeeds, id: string, now: Date): void {
	if (now.getTime() - (noted.get(id) ?? 0) < LAST_USE_MS) return;
	noted.set(id, now.getTime());
	store.tokens.used({ id, at: now.toISOString() }).catch(() => undefined);
}

/** Notes when and where a session was last used, at most once a minute, without delaying the request. */
function noteSession(
	{
		store,
		system,
		noted,
	}: Pick<IdentityNeeds, "system" | "noted"> & {
		store: { accounts: Pick<AccountStore, "noteUse"> };
	},
	{ jti, ip }: Pick<Actor, "jti" | "ip">,
	agent: string,
): void {
	if (jti === undefined) return;
	const now = system.now();
	if (now.getTime() - (noted.get(jti) ?? 0) < LAST_USE_MS) return;
	noted.set(jti, now.getTime());
	// Whatever a program calls itself: what is no plain text would be in the way of a person who reads it.
	const name = agent.replace(/[^\x20-\x7e]/g, "").slice(0, MAX_AGENT);
	const use = { at: now.toISOString(), ip, agent: name };
	Promise.resolve(store.accounts.noteUse(jti, use)).catch(() => undefined);
}

/** Dependencies of asking whether a session lacks a second factor. */
export type FactorCheckNeeds = Pick<IdentityNeeds, "second_factor"> & {
	store: { factors: Pick<FactorStore, "isLacking"> };
};

/** Dependencies of recognizing a session. */
export type SessionOwnerNeeds = Pick<IdentityNeeds, "system" | "sessions" | "noted"> & {
	store: Pick<IdentityNeeds["store"], "accounts">;
};

/** Identifies the owner of a session of the console; undefined when it is none, or has ended. @param token the value of its cookie */
export async function identifySession(
	needs: SessionOwnerNeeds,
	token: string,
	request_id: string,
	ip: string,
	agent: string,
): Promise<Actor | undefined> {
	const identity = await bySession(needs, token);
	if (identity === undefined) return undefined;
	const actor = { ...identity, grants: [], request_id, ip };
	noteSession(needs, actor, agent);
	return actor;
}

async function bySession(
	{ store, system, sessions }: Omit<SessionOwnerNeeds, "noted">,
	token: string,
): Promise<Identity | undefined> {
	const claims = await sessions.verify(token);
	const owner = claims && (await store.accounts.sessionOwner(claims.jti, claims.sub, system.now().toISOString()));
	if (owner === undefined) return undefined;
	const unrestricted = { realm_id: null, environment: null, engines: null, expires_at: null };
	const all = { machine: undefined, scopes: SCOPES, purpose: undefined };
	const confirmed = claims?.auth_time === undefined ? {} : { confirmed_at: claims.auth_time * 1000 };
	return {
		...owner,
		payer: owner.user_id,
		...all,
		token_id: undefined,
		jti: claims?.jti,
		...confirmed,
		...unrestricted,
	};
}
