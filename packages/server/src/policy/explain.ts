import type { Account, AccountStore } from "../accounts/model.ts";
import { AppError } from "../errors.ts";
import type { Environment } from "../messages.ts";
import { normalEmail } from "../normal-text.ts";
import type { RealmAccess } from "../realms/model.ts";
import { type AccessNeeds, authorize, decide, isUnrestricted } from "./authorize.ts";
import { type Actor, type Capability, ROLES, type Role, SCOPES, SCOPES_OF, type Scope } from "./model.ts";

/** Dependencies of an explanation. */
export interface ExplainNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { accounts: Pick<AccountStore, "byId" | "byEmail"> };
}

/** A caller's question. */
interface Question {
	/** Slug. */
	realm: string;
	/** Id or e-mail; the caller when undefined. */
	user: string | undefined;
	/** Capability; all of them when undefined. */
	capability: Capability | undefined;
	environment: Environment | undefined;
}

/** A decision and its reason. */
interface Verdict {
	capability: Capability;
	/** Scope that a token needs for it. */
	scope: Scope;
	allowed: boolean;
	reason: string;
	/** Command that would allow it; empty when it is allowed. */
	command: string;
}

/** A user's rights in a realm, and their origin. */
interface Explanation {
	realm: string;
	user_id: string;
	/** Empty for a user who is not in the realm. */
	role: Role | "";
	is_owner: boolean;
	instance_admin: boolean;
	disabled: boolean;
	/** Token of the caller's request; null for other users, whose tokens nobody sees. */
	token: { scopes: string; environment: string; expires_at: string } | null;
	verdicts: Verdict[];
}

/**
 * Explains what a user may do in a realm and why, by the same decision that requests meet. Everybody may ask about themselves, with the token
 * of the request, unless it is limited to an environment or roles of engines. Those who manage the realm's policy may ask about others in it, as
 * if these had signed in. Only the instance admin may ask about users without a role there: anybody can own a realm, and would learn who has an
 * account.
 * @throws AppError not_found (the realm, as always for callers who are not in it; the user, known or not), forbidden, insufficient_scope
 * Design: §6
 */
export async function explainAccess(needs: ExplainNeeds, actor: Actor, question: Question): Promise<Explanation> {
	const own = await authorize(needs, actor, question.realm, { capability: "secrets:read", scope: "any" });
	const account = await findAccount(needs, question.user ?? actor.user_id);
	const isSelf = account?.id === actor.user_id;
	if (!isSelf) await authorize(needs, actor, question.realm, { capability: "policy:manage", scope: "read" });
	if (account === undefined) throw userNotFound();
	const realm = isSelf ? own : await needs.store.realms.access(question.realm, account.id);
	if (realm === undefined) throw new AppError("not_found", "realm not found: it has just been deleted");
	if (realm.role === null && !(actor.instance_admin && isUnrestricted(actor))) throw userNotFound();
	const subject: Actor = isSelf ? actor : { ...actor, ...SIGNED_IN, user_id: account.id };
	const wanted = question.capability === undefined ? ROLES.admin : [question.capability];
	const isDisabled = account.disabled_at !== null;
	return {
		realm: realm.slug,
		user_id: account.id,
		role: realm.role ?? "",
		is_owner: realm.user_id === account.id,
		instance_admin: account.instance_admin,
		disabled: isDisabled,
		token: isSelf && actor.token_id !== undefined ? shownToken(actor) : null,
		verdicts: wanted.flatMap((capability) =>
			SCOPES_OF[capability].map((scope) => ({
				capability,
				scope,
				...(isDisabled
					? disabled(account)
					: judge(subject, realm, { capability, scope, environment: question.environment })),
			})),
		),
	};
}

function userNotFound(): AppError {
	return new AppError(
		"not_found",
		"no user with that id or e-mail has a role in this realm: `svc binding list` shows the users that do",
	);
}

/** Rights that every session has and a token may lack. */
const SIGNED_IN = {
	scopes: SCOPES,
	purpose: undefined,
	realm_id: null,
	environment: null,
	engines: null,
	token_id: undefined,
} as const;

async function findAccount({ store }: ExplainNeeds, user: string): Promise<Account | undefined> {
	return (await store.accounts.byId(user)) ?? store.accounts.byEmail(normalEmail(user));
}

function shownToken({ scopes, environment, expires_at }: Actor): Explanation["token"] {
	return { scopes: scopes.join(","), environment: environment ?? "", expires_at: expires_at ?? "" };
}

type Access = { capability: Capability; scope: Scope; environment: Environment | undefined };

function judge(subject: Actor, realm: RealmAccess, access: Access): Pick<Verdict, "allowed" | "reason" | "command"> {
	const refusal = decide(subject, realm, access);
	if (refusal === undefined) {
		const by =
			realm.user_id === subject.user_id ? "the owner of the realm is its admin" : `the role ${realm.role} has it`;
		return { allowed: true, reason: by, command: "" };
	}
	if (refusal.code === "insufficient_scope") {
		const needed = SCOPES.filter((scope) => scope === access.scope || subject.scopes.includes(scope)).join(",");
		const isOfSecrets = access.capability.startsWith("secrets:");
		const where = isOfSecrets && access.environment !== undefined ? ` --env ${access.environment}` : "";
		const command = `svc token create NAME --scopes ${needed} --realm ${realm.slug}${where}`;
		return { allowed: false, reason: refusal.message, command };
	}
	const role = leastRole(access.capability);
	const [reason, verb] = realm.role === null ? ["no role in this realm", "add"] : [refusal.message, "set"];
	const command = `svc binding ${verb} ${subject.user_id} ${role} --realm ${realm.slug}`;
	return { allowed: false, reason, command };
}

function leastRole(capability: Capability): Role {
	const roles: readonly Role[] = ["viewer", "member", "admin"];
	return roles.find((role) => (ROLES[role] as readonly Capability[]).includes(capability)) ?? "admin";
}

function disabled({ id }: Account): Pick<Verdict, "allowed" | "reason" | "command"> {
	return { allowed: false, reason: "the account is disabled", command: `svc users enable ${id}` };
}
