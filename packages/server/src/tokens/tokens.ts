import type { AccountStore } from "../accounts/model.ts";
import { type AuditStore, eventBy } from "../audit/model.ts";
import { makeToken } from "../crypto/api-token.ts";
import { AppError, LimitReached } from "../errors.ts";
import { hasExpired } from "../expiry.ts";
import { type PageRequest, type Pagination, readPage } from "../pagination.ts";
import {
	isUnrestricted,
	logRefusal,
	requireInstanceAdmin,
	requireScopeOfAny,
	requireSession,
} from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor, Purpose, Scope } from "../policy/model.ts";
import type { RealmStore } from "../realms/model.ts";
import type { QuestionNeeds } from "../semaphore.ts";
import type { System } from "../system.ts";
import { type ApiToken, MAX_TOKENS, TOKEN_KEPT_DAYS, type TokenStore, tokenLabel } from "./model.ts";

/** Dependencies of the rules of API tokens. */
export interface TokenNeeds {
	store: { tokens: TokenStore; realms: Pick<RealmStore, "access">; audit: Pick<AuditStore, "append"> };
	system: System;
	keyring: { cursorKey(): Buffer };
	/** Tells whether an engine has such a role. */
	hasRole(name: string): boolean;
}

/** Request for a new token. */
export interface NewToken {
	name: string;
	scopes: Scope[];
	/** Slug of the only realm that it is for. */
	realm?: string | null | undefined;
	environment?: string | null | undefined;
	/** Roles of engines that it is for, in that realm, in addition to its environment, if it has one. */
	engines?: readonly string[] | null | undefined;
	/** ISO 8601 UTC. */
	expires_at?: string | null | undefined;
	/** Makes a token for this alone, without scopes, realm, environment and engines. */
	purpose?: Purpose | null | undefined;
}

/**
 * Makes an API token that never exceeds its maker: scopes, realm, environment, engines, lifetime. It inherits the maker's restrictions; if the
 * request names an environment or engines, the token is for these alone. One with a purpose is made by the instance admin in a session.
 * @returns the token's row and, only this once, the token
 * @throws AppError insufficient_scope, not_found (realm), validation_failed (expires_at in the past, engines that are unknown or without a
 * realm, a purpose with limits), forbidden and unsupported_operation (a purpose), unauthorized (the maker's own session or token ended meanwhile), limit_reached
 * Spec: API › API tokens. Design: §6, §7.2, §13
 */
export async function createToken(
	needs: TokenNeeds,
	actor: Actor,
	input: NewToken,
): Promise<ApiToken & { token: string }> {
	const now = needs.system.now();
	const created_at = now.toISOString();
	const limits = await limitsOf(needs, actor, input, created_at);
	const { token, prefix, digest } = makeToken(needs.system.randomBytes);
	const scopes = input.purpose ?? input.scopes.join(",");
	const id = needs.system.uuid();
	const row = {
		id,
		user_id: actor.user_id,
		name: input.name,
		prefix,
		digest,
		scopes,
		...limits,
		engines: limits.engines && JSON.stringify(limits.engines),
		maker_id: actor.token_id ?? null,
		last_used_at: null,
		created_at,
	};
	const facts = {
		token_made: id,
		token_label: tokenLabel(row),
		limited_to: limits.realm_id ?? "",
		scopes,
		environment: limits.environment ?? "",
		engines: limits.engines?.join(","),
		expires_at: limits.expires_at ?? "",
	};
	const event = eventBy(actor, now, "auth.token.created", undefined, facts);
	if ((await needs.store.tokens.create(row, event)) === "limit_reached") throw tooManyTokens();
	return { ...row, token };
}

function tooManyTokens(): AppError {
	return new LimitReached(
		"tokens_per_account",
		`the account has reached its limit of API tokens (tokens_per_account, ${MAX_TOKENS} that have not expired): revoke some with \`svc token revoke\`, or give them an expiry`,
	);
}

type Limits = Pick<Actor, "realm_id" | "environment" | "engines" | "expires_at">;

async function limitsOf(needs: TokenNeeds, actor: Actor, input: NewToken, now: string): Promise<Limits> {
	if (input.purpose == null) return inheritLimits(needs, actor, input, now);
	await requireInstanceAdmin(needs, actor, "write");
	requireSession(actor, "make a token for backups");
	const { scopes, realm, environment, engines, expires_at = null } = input;
	const isLimited = [realm, environment, engines].some((limit) => limit != null);
	if (isLimited || scopes.join() !== "read")
		throw new AppError("validation_failed", "a token with a purpose has no scopes, realm, environment or engines");
	requireFuture(expires_at, now);
	return { realm_id: null, environment: null, engines: null, expires_at };
}

function requireFuture(expires_at: string | null, now: string): void {
	if (hasExpired(expires_at, now)) throw new AppError("validation_failed", "expires_at must be in the future");
}

async function inheritLimits(needs: TokenNeeds, actor: Actor, input: NewToken, now: string): Promise<Limits> {
	for (const scope of input.scopes) await requireScopeOfAny(needs, actor, scope);
	const realm_id = input.realm == null ? actor.realm_id : await memberRealm(needs, actor, input.realm);
	const { environment, engines } = await inheritReach(needs, actor, input);
	if (engines !== null && realm_id === null) {
		throw new AppError("validation_failed", "engines needs realm: the roles belong to one realm");
	}
	const expires_at = input.expires_at ?? (actor.token_id === undefined ? null : actor.expires_at);
	if (actor.realm_id !== null && realm_id !== actor.realm_id) throw await beyond(needs, actor, "realm");
	requireFuture(expires_at, now);
	const isLonger =
		actor.token_id !== undefined && actor.expires_at !== null && !hasExpired(expires_at, actor.expires_at);
	if (isLonger) throw await beyond(needs, actor, "lifetime");
	return { realm_id, environment, engines, expires_at };
}

/** Determines the environment and the roles of engines that a new token is for: the requested ones, else its maker's. */
async function inheritReach(
	needs: TokenNeeds,
	actor: Actor,
	input: NewToken,
): Promise<Pick<Actor, "environment" | "engines">> {
	const { environment = null, engines = null } = input;
	if (environment === null && engines === null) return actor;
	if (actor.environment !== null || actor.engines !== null) {
		if (environment !== null && environment !== actor.environment) throw await beyond(needs, actor, "environment");
		if (engines?.some((one) => !actor.engines?.includes(one))) throw await beyond(needs, actor, "engines");
	}
	if (engines?.every(needs.hasRole) === false) {
		throw new AppError("validation_failed", "engines names a role that does not exist");
	}
	return { environment, engines };
}

function beyond(needs: TokenNeeds, actor: Actor, what: string): Promise<AppError> {
	const message = `a limited token cannot make one that exceeds its own ${what}`;
	return logRefusal(needs, actor, new AppError("insufficient_scope", message), "token");
}

async function memberRealm(needs: TokenNeeds, actor: Actor, slug: string): Promise<string> {
	const realm = await needs.store.realms.access(slug, actor.user_id);
	if (realm === undefined) throw realmNotFound();
	if (realm.role === null) throw await logRefusal(needs, actor, realmNotFound(), "token", realm);
	actor.grants.push({ realm_id: realm.id, capability: "secrets:read", isAdminOnly: false });
	return realm.id;
}

/** Finds the caller's limited token, which manages only itself and the tokens that it made; undefined when the caller is not limited. Design: §13 */
function limitedToken(actor: Actor): string | undefined {
	return isUnrestricted(actor) && actor.expires_at === null ? undefined : actor.token_id;
}

/** Reads one page of the caller's own tokens; for a limited token, itself and those that it made. Spec: API › API tokens. Design: §13 */
export async function listTokens(
	needs: TokenNeeds & QuestionNeeds,
	actor: Actor,
	page: PageRequest,
): Promise<{ rows: ApiToken[]; pagination: Pagination }> {
	await requireScopeOfAny(needs, actor, "read");
	const { tokens } = needs.store;
	const ancestor = limitedToken(actor);
	const inTurn = <T>(ask: () => Promise<T>) => needs.long_questions.run(ask, actor);
	return readPage(needs.keyring.cursorKey(), page, {
		list: `tokens ${ancestor ?? actor.user_id}`,
		read: (after = "", limit) =>
			ancestor === undefined
				? tokens.list(actor.user_id, after, limit)
				: inTurn(() => tokens.listLineage(ancestor, after, limit)),
		position: (token) => token.id,
		count: () => (ancestor === undefined ? tokens.count(actor.user_id) : inTurn(() => tokens.countLineage(ancestor))),
	});
}

/** Dependencies of looking at the tokens of others. */
export type TokenNeedsOfAdmins = TokenNeeds & { store: { accounts: Pick<AccountStore, "byId"> } };

/** Reads one page of somebody's tokens, none of which has its value. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function listTokensOf(
	needs: TokenNeedsOfAdmins,
	actor: Actor,
	user_id: string,
	page: PageRequest,
): Promise<{ rows: ApiToken[]; pagination: Pagination }> {
	await requireInstanceAdmin(needs, actor, "read");
	const { accounts, tokens } = needs.store;
	if ((await accounts.byId(user_id)) === undefined)
		throw new AppError("not_found", "user not found: `svc users list` shows the accounts");
	return readPage(needs.keyring.cursorKey(), page, {
		list: `tokens of ${user_id}`,
		read: (after = "", limit) => tokens.list(user_id, after, limit),
		position: (token) => token.id,
		count: () => tokens.count(user_id),
	});
}

/**
 * Revokes one of the caller's own tokens and those that it made: the one in use always, another with scope delete. A limited token revokes
 * only itself and those that it made.
 * @throws AppError not_found, insufficient_scope
 * Spec: API › API tokens. Design: §7.2, §13
 */
export async function revokeToken(needs: TokenNeeds, actor: Actor, id: string): Promise<void> {
	if (actor.token_id !== id) await requireScopeOfAny(needs, actor, "delete");
	const event = eventBy(actor, needs.system.now(), "auth.token.revoked", undefined, { token_revoked: id });
	const end = { id, user_id: actor.user_id, within: limitedToken(actor) };
	const outcome = await needs.store.tokens.revoke(end, event);
	if (outcome === "none") throw new AppError("not_found", "token not found: `svc token list` shows yours");
	if (outcome === "outside") {
		const message = "a limited token can revoke only itself and the tokens it made: sign in with `svc login`";
		throw await logRefusal(needs, actor, new AppError("insufficient_scope", message), "token");
	}
}

/** Finds one of somebody's tokens. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function tokenOf(needs: TokenNeedsOfAdmins, actor: Actor, user_id: string, id: string): Promise<ApiToken> {
	await requireInstanceAdmin(needs, actor, "read");
	const token = await needs.store.tokens.byId(id);
	if (token?.user_id !== user_id) throw noTokenOf();
	return token;
}

const noTokenOf = () =>
	new AppError("not_found", "token not found: `svc token list --user USER` shows those of an account");

/** Revokes one of somebody's tokens and those that it made. @throws AppError forbidden, insufficient_scope, not_found. Design: §7.1 */
export async function revokeTokenOf(
	needs: TokenNeedsOfAdmins,
	actor: Actor,
	user_id: string,
	id: string,
): Promise<void> {
	await requireInstanceAdmin(needs, actor, "delete");
	const facts = { token_revoked: id, user_id };
	const event = eventBy(actor, needs.system.now(), "auth.token.revoked", undefined, facts);
	if ((await needs.store.tokens.revoke({ id, user_id }, event)) !== "done") throw noTokenOf();
}

/** Forgets tokens that expired long ago; the log keeps them. @returns how many. Design: §13 */
export function forgetExpiredTokens({
	store,
	system,
}: Pick<TokenNeeds, "system"> & { store: { tokens: Pick<TokenStore, "forgetExpired"> } }): Promise<number> {
	const before = system.now().getTime() - TOKEN_KEPT_DAYS * 24 * 60 * 60 * 1000;
	return store.tokens.forgetExpired(new Date(before).toISOString());
}
