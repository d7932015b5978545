import type { Throttle } from "../accounts/throttle.ts";
import { type AuditStore, type EventData, noteBy, type Visitor, visitorEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { notInvited } from "../invitations/use.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { ProviderUnavailable, type RefusalReason, SsoRefusal } from "./model.ts";
import type { Provider } from "./providers.ts";

/** Dependencies of recording a refusal. */
export interface RefusalNeeds {
	store: { audit: Pick<AuditStore, "append"> };
	system: System;
	throttle: Pick<Throttle, "checkRefusals" | "refused">;
}

/**
 * Attempts a login or a link: the audit log records a refusal, and the caller learns only what is safe.
 * @throws AppError unauthorized, invalid_credentials, conflict, validation_failed, registration_disabled, forbidden, provider_unavailable,
 * rate_limited (too many refusals of one source)
 */
export async function guarded<T>(
	needs: RefusalNeeds,
	visitor: Visitor,
	provider: Provider,
	attempt: () => Promise<T>,
): Promise<T> {
	await needs.throttle.checkRefusals(visitor.ip);
	try {
		return await attempt();
	} catch (error) {
		const facts = { method: provider.is.type, provider: provider.name };
		if (error instanceof SsoRefusal) {
			await noteRefusal(needs, visitor, { ...facts, reason: error.reason });
			throw answerTo(error.reason, provider, error);
		}
		if (error instanceof ProviderUnavailable) {
			await noteRefusal(needs, visitor, { ...facts, reason: "unavailable" satisfies RefusalReason });
			throw new AppError("provider_unavailable", `the identity provider is unavailable: ${error.message}`);
		}
		throw error;
	}
}

/** Records a refusal. The person is unknown, unless a signed-in user wanted to link an identity. */
export async function noteRefusal(
	{ store, system, throttle }: RefusalNeeds,
	who: Visitor | Actor,
	facts: EventData,
): Promise<void> {
	await throttle.refused(who.ip);
	const type = "auth.login.failed";
	const isSignedIn = "user_id" in who;
	const now = system.now();
	await store.audit.append(
		isSignedIn ? noteBy(who, now, type, undefined, facts) : visitorEvent(who, now, type, "unknown", facts),
	);
}

function answerTo(reason: RefusalReason, { name, is }: Provider, cause: SsoRefusal): AppError {
	if (reason === "email_taken") {
		return new AppError(
			"conflict",
			`an account with this e-mail already exists: sign in to it, then link it with \`svc account link ${name}\``,
		);
	}
	if (reason === "linked_elsewhere") {
		return new AppError("conflict", "this identity belongs to another account: only that account can sign in with it");
	}
	if (reason === "email_missing") {
		const field = is.type === "oidc" ? "claim email" : "e-mail attribute";
		return new AppError("validation_failed", `the identity provider sent no e-mail address: its ${field} is needed`);
	}
	if (reason === "not_provisioned") {
		return new AppError(
			"registration_disabled",
			"this provider does not create accounts: ask the instance admin for one",
		);
	}
	if (reason === "auth_time") {
		const message = "the identity provider does not say that you signed in there again: an old sign-in is not enough";
		return new AppError("forbidden", message);
	}
	if (reason === "another_person") {
		return new AppError(
			"forbidden",
			"this is not the account of the session: sign in again as the person who is signed in",
		);
	}
	if (reason === "invitation") return notInvited();
	if (is.type === "ldap") return new AppError("invalid_credentials", "invalid username or password", { cause });
	return refused(cause);
}

/** The one answer to everything that proves nothing. */
export function refused(cause?: SsoRefusal): AppError {
	const message = "the login was refused: try again; the audit log has the reason";
	return new AppError("unauthorized", message, cause === undefined ? {} : { cause });
}
