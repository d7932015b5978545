import { AppError, LimitReached } from "../errors.ts";
import type { RowLimit } from "../limits.ts";
import { type AccessNeeds, authorize, requireSession } from "../policy/authorize.ts";
import { MANAGING } from "../policy/decide.ts";
import { type Actor, ROLES } from "../policy/model.ts";
import type { RealmAccess } from "../realms/model.ts";
import type { Machine, MachineStore } from "./model.ts";

/** Dependencies of those who look after machines. */
export interface ManageNeeds extends AccessNeeds {
	store: AccessNeeds["store"] & { machines: Pick<MachineStore, "byName"> };
}

/**
 * Requires a session of somebody who manages the realm's policy. A token changes no machine: a stolen one must not outlive its end.
 * @throws AppError not_found, forbidden, insufficient_scope, unsupported_operation
 * Design: §15
 */
export async function manageMachines(needs: AccessNeeds, actor: Actor, slug: string): Promise<RealmAccess> {
	const realm = await authorize(needs, actor, slug, { capability: "policy:manage", scope: "any" });
	requireSession(actor, "change machines");
	return realm;
}

/** Requires the right to see a realm's machines. @throws AppError not_found, forbidden, insufficient_scope. Design: §15 */
export function authorizeReading(needs: AccessNeeds, actor: Actor, slug: string): Promise<RealmAccess> {
	return authorize(needs, actor, slug, { capability: "policy:manage", scope: "read" });
}

/** Requires all that a machine of a role may do: nobody gives more than they have. @throws AppError forbidden. Design: §15 */
export async function requireRoleOf(needs: AccessNeeds, actor: Actor, slug: string, role: Machine["role"]) {
	for (const capability of ROLES[role]) {
		// No machine manages anything.
		if (!MANAGING.has(capability)) await authorize(needs, actor, slug, { capability });
	}
}

/** Finds a machine by its name. @throws AppError not_found */
export async function findMachine(needs: ManageNeeds, realm: RealmAccess, name: string): Promise<Machine> {
	const machine = await needs.store.machines.byName(realm.id, name);
	if (machine === undefined)
		throw new AppError("not_found", "machine not found: `svc machine list` shows those of the realm");
	return machine;
}

/** Makes the refusal of one more thing than a limit allows. @param verb command that ends one */
export function tooMany(limit: RowLimit, whose: string, what: string, max: number, verb: string): AppError {
	const message = `${whose} has reached its limit of ${what} (${limit}, ${max}): end one first with \`svc machine ${verb}\``;
	return new LimitReached(limit, message);
}
