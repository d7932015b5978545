import type { EventType } from "./event-types.ts";

/** Types of the events that grant something or end it. */
export const GRANTING_TYPES = [
	"auth.register",
	"auth.login",
	"user.disabled",
	"user.enabled",
	"user.admin.set",
	"realm.created",
	"realm.transferred",
	"realm.deleted",
	"realm.purged",
	"realm.restored",
	"policy.binding.created",
	"policy.binding.changed",
	"policy.binding.deleted",
	"auth.token.created",
	"auth.token.revoked",
	"access.revoked",
	"engine.config.set",
	"engine.config.deleted",
	"sso.provider.set",
	"sso.provider.deleted",
	"sso.identity.linked",
	"sso.identity.unlinked",
] as const satisfies readonly EventType[];

/** One of these types. */
export type GrantingType = (typeof GRANTING_TYPES)[number];
