import { type Fields, isObject, type Method } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { authorize, requireWithinLimits } from "../policy/authorize.ts";
import type { Actor, Capability } from "../policy/model.ts";
import type { Caller, EngineNeeds } from "./engines.ts";
import { logEngineOf } from "./events.ts";
import type { CatalogEntry } from "./host/model.ts";
import type { Member } from "./kinds/connector.ts";

/**
 * Admits a member of a realm to an engine, before any check of roles.
 * @throws AppError not_found (realm, engine type), engine_not_configured, engine_unavailable
 */
export async function admit(
	needs: EngineNeeds,
	actor: Actor,
	slug: string,
	type: string,
	method: Method,
): Promise<Caller> {
	const realm = await authorize(needs, actor, slug, { capability: "secrets:read", scope: "any", engine: type });
	try {
		return { actor, realm, engine: await needs.runtime.forRealm(type, realm.id) };
	} catch (error) {
		if (error instanceof AppError && error.code !== "not_found")
			await logEngineOf(needs, { actor, realm, type }, "engine.error", { method, code: error.code });
		throw error;
	}
}

/** Names whom an engine's failures count against: an account's machines, which others may use, count apart from its people. */
export function memberOf({ actor, realm }: Caller): Member {
	const { payer, machine } = actor;
	return { realm_id: realm.id, payer: machine === undefined ? payer : `machines of ${payer}` };
}

/** Lets a member use a role of an engine. @throws AppError forbidden, insufficient_scope. Design: §8, §13 */
export async function authorizeRole(
	needs: EngineNeeds,
	{ actor, realm, engine }: Caller,
	role: string | undefined,
): Promise<void> {
	const { entry, config } = engine;
	const engine_role = { engine: entry.type, role };
	if (entry.kind.isForEveryMember) return requireWithinLimits(needs, actor, "engines", engine_role);
	const capability = capabilityFor(entry, config.fields, role);
	await authorize(needs, actor, realm.slug, { capability, ...engine_role });
}

/** Capability that a role needs by its name, whichever engine declares it: engines of third parties use the same names. Design: §8 */
const USUAL_CAPABILITY: Record<string, Capability> = {
	readonly: "secrets:read",
	read: "secrets:read",
	viewer: "secrets:read",
	server: "secrets:read",
	client: "secrets:read",
	both: "secrets:read",
	readwrite: "secrets:write",
	readWrite: "secrets:write",
	editor: "secrets:write",
	admin: "realms:manage",
	dbAdmin: "realms:manage",
};

/**
 * Finds the capability needed for a credential of that role. A declared role without a usual capability needs realms:manage, and so does a
 * role that a third party's engine did not declare; an engine of ours refuses those itself, and the core does so for a kind without a
 * program. An engine without roles admits any member, or only writers when its credentials live elsewhere.
 * Design: §8
 */
export function capabilityFor(
	{ descriptor, is_built_in }: Pick<CatalogEntry, "descriptor" | "is_built_in">,
	fields: Fields,
	role: string | undefined,
): Capability {
	const changed = isObject(fields.role_capabilities) ? fields.role_capabilities : {};
	if (role !== undefined && Object.hasOwn(changed, role)) return changed[role] as Capability;
	const isKnown = descriptor.default_roles.some(({ name }) => name === role);
	if (role !== undefined && isKnown)
		return (Object.hasOwn(USUAL_CAPABILITY, role) && USUAL_CAPABILITY[role]) || "realms:manage";
	if (descriptor.default_roles.length > 0) return is_built_in || role === undefined ? "secrets:read" : "realms:manage";
	return descriptor.capabilities.includes("engine:dynamic_credentials") ? "secrets:write" : "secrets:read";
}
