import { type AuditStore, noteBy, type RealmRef } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import type { RealmAccess, RealmStore } from "../realms/model.ts";
import type { System } from "../system.ts";
import { MANAGING, notInstanceAdmin, peopleOnly, realmNotFound, refuseRole } from "./decide.ts";
import { type Actor, type Capability, type RealmGrant, SCOPES_OF, type Scope } from "./model.ts";

/** Dependencies of a refusal: each is logged before it is answered. */
export interface RefusalNeeds {
	store: { audit: Pick<AuditStore, "append"> };
	system: Pick<System, "now">;
}

/** Dependencies of a decision on access to a realm. */
export interface AccessNeeds extends RefusalNeeds {
	store: RefusalNeeds["store"] & { realms: Pick<RealmStore, "access"> };
}

/** An intended action in a realm. */
export interface Access {
	capability: Capability;
	/** Scope that a token needs for it, unless it is the capability's first one; `any` when any token will do. */
	scope?: Scope | "any";
	/** The environment concerned. Without it, tokens limited to one are refused. */
	environment?: string | undefined;
	/** The type of the engine concerned. Without it, tokens limited to roles of engines are refused. */
	engine?: string | undefined;
	/** The role of that engine; any role when absent. */
	role?: string | undefined;
	/** Answers 403 to anybody but an admin of an existing realm instead of hiding the realm. Spec: API › Admin-only operations. */
	isAdminOnly?: boolean;
}

/**
 * Decides whether the caller may do something in a realm: capability of the role ∩ scopes and restrictions of the token. The grant goes
 * along with every change that follows, and is decided again inside its transaction.
 * @returns the realm
 * @throws AppError not_found (no such realm, or not a member of it), forbidden, insufficient_scope
 * Design: §6
 */
export async function authorize(needs: AccessNeeds, actor: Actor, slug: string, access: Access): Promise<RealmAccess> {
	const realm = await needs.store.realms.access(slug, actor.user_id);
	if (realm === undefined) throw realmNotFound();
	const refusal = decide(actor, realm, access);
	if (refusal !== undefined) throw await logRefusal(needs, actor, refusal, access.capability, realm);
	actor.grants.push(grantOf(realm, access));
	return realm;
}

/** Requires a scope for an action outside any realm. @throws AppError insufficient_scope */
export async function requireScope(needs: RefusalNeeds, actor: Actor, scope: Scope): Promise<void> {
	await requireWithinLimits(needs, actor, scope);
	await requireScopeOfAny(needs, actor, scope);
}

/** Requires a scope for an action that limited tokens may do, too. @throws AppError insufficient_scope */
export async function requireScopeOfAny(needs: RefusalNeeds, actor: Actor, scope: Scope): Promise<void> {
	if (!actor.scopes.includes(scope)) throw await logRefusal(needs, actor, missingScope(scope), scope);
}

/**
 * Refuses a limited token anything that its limits do not name.
 * @param named the part of the action that a limit can name; none for most actions
 * @throws AppError insufficient_scope
 * Design: §13
 */
export async function requireWithinLimits(
	needs: RefusalNeeds,
	actor: Actor,
	wanted: string,
	named: Named = {},
): Promise<void> {
	const refusal = beyondLimits(actor, named);
	if (refusal !== undefined) throw await logRefusal(needs, actor, refusal, wanted);
}

/** Requires the instance admin, with a token that allows it. @throws AppError forbidden, insufficient_scope */
export async function requireInstanceAdmin(needs: RefusalNeeds, actor: Actor, scope: Scope): Promise<void> {
	if (!actor.instance_admin) throw await logRefusal(needs, actor, notInstanceAdmin(), "instance");
	await requireUnrestricted(needs, actor);
	await requireScope(needs, actor, scope);
	actor.grants.push("instance");
}

/** Requires a session, for what a stolen API token must not do. @throws AppError unsupported_operation */
export function requireSession({ jti }: Actor, doing: string): string {
	if (jti !== undefined) return jti;
	throw new AppError("unsupported_operation", `an API token cannot ${doing}: sign in with \`svc login\``);
}

/** Requires a session of the instance admin: a token changes nothing that could outlive it. @throws AppError forbidden, unsupported_operation. Design: §15 */
export async function requireInstanceSession(needs: RefusalNeeds, actor: Actor, doing: string): Promise<void> {
	if (!actor.instance_admin) throw await logRefusal(needs, actor, notInstanceAdmin(), "instance");
	requireSession(actor, doing);
	actor.grants.push("instance");
}

/** Logs that a machine asked for what is left to people. @returns the refusal, for you to throw. Design: §15 */
export function refuseMachine(needs: RefusalNeeds, actor: Actor): Promise<AppError> {
	const [slug = ""] = actor.machine?.name.split("/") ?? [];
	const realm = actor.realm_id === null ? undefined : { id: actor.realm_id, slug };
	return logRefusal(needs, actor, peopleOnly(), "machine", realm);
}

/** Logs that a token for backups asked for something else. @returns the refusal, for you to throw */
export function refuseBackupToken(needs: RefusalNeeds, actor: Actor): Promise<AppError> {
	const message = "the token makes and downloads backups and does nothing else: sign in with `svc login`";
	return logRefusal(needs, actor, new AppError("insufficient_scope", message), "backup");
}

/** Refuses limited tokens any action that concerns more than a realm. @throws AppError insufficient_scope */
export async function requireUnrestricted(needs: RefusalNeeds, actor: Actor): Promise<void> {
	if (isUnrestricted(actor)) return;
	const refusal = new AppError(
		"insufficient_scope",
		"the token is limited: use one without limits, or sign in with `svc login`",
	);
	throw await logRefusal(needs, actor, refusal, "instance");
}

/** Tells whether the caller may do all that its account may, within its scopes. */
export function isUnrestricted(actor: Actor): boolean {
	return actor.realm_id === null && actor.environment === null && actor.engines === null;
}

/** Logs a refusal. @returns the refusal, for you to throw */
export async function logRefusal(
	needs: RefusalNeeds,
	actor: Actor,
	refusal: AppError,
	wanted: string,
	realm?: RealmRef,
): Promise<AppError> {
	const facts = { wanted, reason: refusal.code };
	await needs.store.audit.append(noteBy(actor, needs.system.now(), "access.denied", realm, facts));
	return refusal;
}

/** Makes the decision itself: returns the refusal, or undefined when the actor may do it. Design: §6 */
export function decide(actor: Actor, realm: RealmAccess, access: Access): AppError | undefined {
	const isElsewhere = actor.realm_id !== null && actor.realm_id !== realm.id;
	const refusal = refuseRole(isElsewhere ? null : realm.role, grantOf(realm, access));
	if (refusal !== undefined) return refusal;
	if (actor.machine !== undefined && MANAGING.has(access.capability)) return peopleOnly();
	const scope = access.scope ?? SCOPES_OF[access.capability][0];
	if (scope !== "any" && !actor.scopes.includes(scope)) return missingScope(scope);
	return beyondLimits(actor, access);
}

/** Parts of an action that a token's limit can name. */
type Named = Pick<Access, "environment" | "engine" | "role">;

/** Deny by default: a limited token may do only what one of its limits names. Design: §13 */
function beyondLimits({ environment, engines }: Actor, named: Named): AppError | undefined {
	if (environment === null && engines === null) return undefined;
	if (environment !== null && environment === named.environment) return undefined;
	if (engines !== null && named.engine !== undefined && covers(engines, named.engine, named.role)) return undefined;
	return new AppError("insufficient_scope", `the token is limited to ${limitsBeside({ environment, engines }, named)}`);
}

function covers(engines: readonly string[], type: string, role: string | undefined): boolean {
	if (role !== undefined) return engines.includes(`${type}:${role}`);
	return engines.some((one) => one === type || one.startsWith(`${type}:`));
}

function limitsBeside({ environment, engines }: Pick<Actor, "environment" | "engines">, named: Named): string {
	if (environment !== null && named.environment !== undefined) return "another environment";
	if (engines !== null && named.engine !== undefined) return "other roles of engines";
	const limits = [environment === null ? [] : "one environment", engines === null ? [] : "roles of engines"].flat();
	return `${limits.join(" and ")}, and this request needs more`;
}

function grantOf({ id }: RealmAccess, { capability, isAdminOnly = false }: Access): RealmGrant {
	return { realm_id: id, capability, isAdminOnly };
}

function missingScope(scope: Scope): AppError {
	return new AppError(
		"insufficient_scope",
		`the token lacks the scope ${scope}: make one with it, or sign in with \`svc login\``,
	);
}
