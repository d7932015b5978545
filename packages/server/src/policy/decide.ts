import type { AuditEvent } from "../audit/model.ts";
import { AppError, unauthorized } from "../errors.ts";
import {
	type Binding,
	type BindingOutcome,
	type Capability,
	MAX_BINDINGS,
	MAX_MEMBERSHIPS,
	type Maker,
	type RealmGrant,
	ROLES,
	type Role,
} from "./model.ts";

/** Refuses a role, or none, that lacks a capability; undefined when it has it. Spec: API › Role capabilities, Admin-only operations */
export function refuseRole(
	role: Role | null,
	{ capability, isAdminOnly }: Pick<RealmGrant, "capability" | "isAdminOnly">,
): AppError | undefined {
	if (role === null) return isAdminOnly ? new AppError("forbidden", adminOnly(capability)) : realmNotFound();
	const capabilities: readonly Capability[] = ROLES[role];
	if (capabilities.includes(capability)) return undefined;
	return new AppError(
		"forbidden",
		isAdminOnly
			? adminOnly(capability)
			: `the role ${role} lacks the capability ${capability}: ask an admin of the realm for another role`,
	);
}

function adminOnly(capability: Capability): string {
	return capability === "policy:manage"
		? "only admins can manage policy: the capability policy:manage is needed"
		: `insufficient permissions: the capability ${capability} is needed`;
}

/** Capabilities that no machine has, whatever its role. Design: §15 */
export const MANAGING: ReadonlySet<Capability> = new Set<Capability>(["realms:manage", "policy:manage"]);

/** Makes the answer to a machine that asks for what is left to people. */
export function peopleOnly(): AppError {
	return new AppError("forbidden", "a machine cannot do this, whatever its role: only people can");
}

/** Makes the answer for realms that do not exist, and for those that the caller is not a member of. */
export function realmNotFound(): AppError {
	return new AppError("not_found", "realm not found: `svc realm list` shows yours");
}

/** Makes the answer to everybody who does not manage the instance. */
export function notInstanceAdmin(): AppError {
	return new AppError("forbidden", "only the instance admin can do this");
}

/** Facts known when a user is to be bound in a realm. */
export interface BindingFacts {
	/** Undefined when there is no such realm. */
	owner_id: string | undefined;
	hasAccount: boolean;
	isBound: boolean;
	/** Bindings of the realm. */
	count: number;
	/** Bindings of the user. */
	memberships: number;
}

/**
 * Decides whether to bind a user in a realm. Its owner is never bound: the owner is its admin without a binding.
 * Nobody can fill an account's memberships to keep the instance admin from break-glass, which is a binding by oneself. Design: §6, §13
 */
export function decideBinding(
	{ user_id, granted_by }: Pick<Binding, "user_id" | "granted_by">,
	{ owner_id, hasAccount, isBound, count, memberships }: BindingFacts,
): BindingOutcome {
	if (owner_id === undefined) return "realm_gone";
	if (owner_id === user_id) return "owner";
	if (!hasAccount) return "no_user";
	if (isBound) return "exists";
	if (count >= MAX_BINDINGS) return "limit_reached";
	return memberships >= MAX_MEMBERSHIPS && granted_by !== user_id ? "user_limit_reached" : "done";
}

/** Facts known about the maker of a change at the moment it is made. */
export interface CurrentAccess {
	/** Finds the account of the session or API token, if that is valid and the account is enabled, or the machine of the token, with its limits. */
	account(maker: Maker): { instance_admin: boolean; limits?: string } | undefined;
	/** Finds the role in a realm, null without one; undefined when there is no such realm. */
	role(realm_id: string, user_id: string): Role | null | undefined;
}

/** A refusal of a change whose maker is no longer entitled to it. */
export interface Refused {
	answer: AppError;
	/** The refused action, as logged; undefined when it is not logged, for lack of an account or a realm. */
	wanted: string | undefined;
}

/** Decides again about the maker of a change, by the facts known now. Design: §13 */
export function refuseMaker(access: CurrentAccess, maker: Maker): Refused | undefined {
	const account = access.account(maker);
	if (account === undefined) return { answer: unauthorized(), wanted: undefined };
	if (account.limits !== maker.machine?.limits) return { answer: changedMeanwhile(), wanted: undefined };
	for (const grant of maker.grants) {
		if (maker.machine !== undefined && (grant === "instance" || MANAGING.has(grant.capability)))
			return { answer: peopleOnly(), wanted: "machine" };
		if (grant === "instance") {
			if (!account.instance_admin) return { answer: notInstanceAdmin(), wanted: grant };
			continue;
		}
		const role = access.role(grant.realm_id, maker.user_id);
		if (role === undefined) return { answer: realmNotFound(), wanted: undefined };
		const answer = refuseRole(role, grant);
		if (answer !== undefined) return { answer, wanted: grant.capability };
	}
	return undefined;
}

function changedMeanwhile(): AppError {
	return new AppError("conflict", "the machine was changed meanwhile: try again");
}

/** Event of a change that has a maker. */
export type MadeEvent = AuditEvent & Required<Pick<AuditEvent, "maker">>;

/** Finds the event of a maker's change among an operation's arguments. */
export function madeEventIn(args: readonly unknown[]): MadeEvent | undefined {
	return args.find(isByMaker);
}

function isByMaker(given: unknown): given is MadeEvent {
	return typeof given === "object" && given !== null && "maker" in given && given.maker !== undefined;
}

/**
 * Refuses a change whose maker has lost the right to it; undefined when nothing is to be refused. Design: §13
 * @returns the answer, and the event that shows it in the log as if the rule itself had refused; undefined when it is not logged
 */
export function refuseEvent(
	access: CurrentAccess,
	{ maker, timestamp, data, ...about }: MadeEvent,
): { answer: AppError; denied: AuditEvent | undefined } | undefined {
	const refused = refuseMaker(access, maker);
	if (refused === undefined) return undefined;
	const { answer, wanted } = refused;
	if (wanted === undefined) return { answer, denied: undefined };
	const { request_id, ip, token_id, session_id, machine } = data;
	const facts = { wanted, reason: answer.code, request_id, ip, token_id, session_id, machine };
	return { answer, denied: { ...about, timestamp, type: "access.denied", data: facts } };
}
