import { type AuditStore, makerOf, type Visitor, visitorEvent } from "../audit/model.ts";
import type { Config } from "../config.ts";
import { hashPassword } from "../crypto/password.ts";
import { AppError, LimitReached } from "../errors.ts";
import { findInvitation, type InvitationUseNeeds, notInvited } from "../invitations/use.ts";
import { isUnrestricted } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { sourceGroup } from "../source.ts";
import type { System } from "../system.ts";
import type { Profile } from "./accounts.ts";
import { type AccountStore, type LeftOutRole, MAX_ACCOUNTS, type UsedInvitation } from "./model.ts";
import type { PasswordQueue } from "./password-queue.ts";
import type { SetupCode } from "./setup-code.ts";
import type { Throttle } from "./throttle.ts";

/** Dependencies of registration. */
export interface RegistrationNeeds extends InvitationUseNeeds {
	store: InvitationUseNeeds["store"] & {
		accounts: Pick<AccountStore, "hadAny" | "register">;
		audit: Pick<AuditStore, "append">;
	};
	system: System;
	passwords: Pick<PasswordQueue, "run">;
	throttle: Pick<Throttle, "registration">;
	setup_code: SetupCode;
}

/** Codes that somebody may have been given to register with. */
interface Codes {
	setup_code?: string | undefined;
	invitation?: string | undefined;
}

/**
 * Registers an account; the first one becomes instance admin, and needs the setup code unless everybody may register.
 * @returns the account and, if its invitation gave less than was promised, the roles that were left out
 * @param registrar the signed-in caller, where the policy requires one
 * @throws AppError registration_disabled, registration_admin_only, invalid_credentials (an invitation that is not for this address), conflict (e-mail
 * registered, not the first), limit_reached, rate_limited, overloaded
 * Spec: API › Accounts and login. Design: §6, §15
 */
export async function register(
	needs: RegistrationNeeds,
	visitor: Visitor,
	input: { email: string; password: string; name: string } & Codes,
	registrar: Actor | undefined,
): Promise<Profile & { created_at: string; left_out?: LeftOutRole[] }> {
	await needs.throttle.registration(visitor.ip);
	const admitted = await admit(needs, visitor, input, registrar);
	const now = needs.system.now();
	const id = needs.system.uuid();
	const { email } = input;
	const name = input.name.trim() === "" ? email : input.name;
	const password = await needs.passwords.run({ source: sourceGroup(visitor.ip) }, () => hashPassword(input.password));
	const created_at = now.toISOString();
	const account = { id, email, name, password, instance_admin: false, disabled_at: null, created_at };
	const noted = visitorEvent(visitor, now, "auth.register", registrar?.user_id ?? id, { user_id: id });
	const event = registrar === undefined ? noted : { ...noted, maker: makerOf(registrar) };
	const most = registrar === undefined ? { most: MAX_ACCOUNTS } : {};
	const registered = await needs.store.accounts.register({ ...account, ...admitted, ...most }, event);
	if (registered.outcome !== "done") throw await refusalOf(needs, visitor, email, registered.outcome);
	if (admitted.only_first) await needs.setup_code.end();
	const { left_out } = registered;
	return { id, email, name, created_at, ...(left_out.length > 0 && { left_out }) };
}

/** Refuses visitors who may not register; returns the terms on which the account is made. If two registrations race to be the first, the store decides. */
async function admit(
	needs: RegistrationNeeds,
	visitor: Visitor,
	given: { email: string } & Codes,
	registrar: Actor | undefined,
): Promise<{ only_first: boolean; invitation?: UsedInvitation }> {
	const { store, registration, setup_code } = needs;
	if (given.invitation !== undefined) {
		const invitation = await findInvitation(needs, given.email, given.invitation);
		if (invitation === undefined) throw await refuseInvitation(needs, visitor, given.email);
		return { only_first: false, invitation };
	}
	if (await store.accounts.hadAny()) {
		if (given.setup_code !== undefined) throw hasAccounts();
		refuseByPolicy(registration, given.email, registrar);
		return { only_first: false };
	}
	if (!setup_code.admits(given.setup_code ?? "")) {
		throw new AppError(
			"registration_admin_only",
			"the first account needs the setup code: run `svc init` and enter the code from the file setup-code in the data directory",
		);
	}
	return { only_first: given.setup_code !== undefined || registration.mode !== "open" };
}

async function refusalOf(
	needs: RegistrationNeeds,
	visitor: Visitor,
	email: string,
	outcome: "email_taken" | "not_first" | "limit_reached" | "not_invited",
): Promise<AppError> {
	if (outcome === "not_invited") return refuseInvitation(needs, visitor, email);
	if (outcome === "limit_reached") return tooManyAccounts();
	if (outcome === "not_first") return hasAccounts();
	return new AppError("conflict", "the e-mail is already registered: sign in with `svc login`");
}

/** Logs an invitation that makes no account. @returns the refusal, for you to throw */
async function refuseInvitation(
	{ store, system }: RegistrationNeeds,
	visitor: Visitor,
	email: string,
): Promise<AppError> {
	const facts = { method: "invitation", reason: "code" };
	await store.audit.append(visitorEvent(visitor, system.now(), "auth.login.failed", email, facts));
	return notInvited();
}

function tooManyAccounts(): AppError {
	return new LimitReached(
		"accounts",
		`this server has reached its limit of registered accounts (accounts, ${MAX_ACCOUNTS}): ask the instance admin for one`,
	);
}

function hasAccounts(): AppError {
	return new AppError("conflict", "the first account already exists: sign in with `svc login`");
}

function refuseByPolicy(
	{ mode, allowed_domains }: Config["registration"],
	email: string,
	registrar: Actor | undefined,
): void {
	if (mode === "closed")
		throw new AppError(
			"registration_disabled",
			"registration is disabled on this server: ask an instance admin for an invitation",
		);
	if (mode === "admin") {
		if (!(registrar?.instance_admin && registrar.scopes.includes("write") && isUnrestricted(registrar))) {
			throw new AppError(
				"registration_admin_only",
				"only the instance admin can register accounts on this server: ask for an account or an invitation",
			);
		}
		registrar.grants.push("instance");
	}
	if (mode === "domain" && !allowed_domains.includes(email.slice(email.lastIndexOf("@") + 1))) {
		throw new AppError("registration_disabled", "registration is disabled for this e-mail's domain");
	}
}
