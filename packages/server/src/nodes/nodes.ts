import { type RefusalNeeds, requireInstanceAdmin } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { Node } from "./model.ts";

/** Dependencies of the rule about nodes. */
export interface NodeNeeds extends RefusalNeeds {
	store: RefusalNeeds["store"] & { nodes(): Promise<Node[]> };
}

/**
 * Lists the servers that use the store, in the order in which they joined.
 * @throws AppError forbidden, insufficient_scope
 * Design: §14
 */
export async function listNodes(needs: NodeNeeds, actor: Actor): Promise<Node[]> {
	await requireInstanceAdmin(needs, actor, "read");
	return needs.store.nodes();
}
