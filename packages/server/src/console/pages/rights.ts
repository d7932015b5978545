import type { Capability, Scope } from "../../policy/model.ts";

const RIGHTS: Readonly<Record<Capability, string>> = {
	"secrets:read": "read every value",
	"secrets:write": "write values",
	"secrets:delete": "delete and restore secrets",
	"realms:manage": "rename the realm",
	"policy:manage": "give roles, invite people, make machines",
	"audit:read": "read the audit log",
};

/** Names what a right also allows where its token needs the scope delete. */
const RIGHTS_TO_REMOVE: Partial<Record<Capability, string>> = {
	"realms:manage": "delete the realm",
	"policy:manage": "take roles away, end invitations, delete machines",
};

/** Says what a right lets somebody do. */
export function rightOf(capability: Capability, scope?: Scope): string {
	return (scope === "delete" ? RIGHTS_TO_REMOVE[capability] : undefined) ?? RIGHTS[capability];
}

/** Says all that a role lets somebody do. */
export function rightsOf(capabilities: readonly Capability[]): string {
	return capabilities.flatMap((one) => [RIGHTS[one], RIGHTS_TO_REMOVE[one] ?? []].flat()).join("; ");
}
