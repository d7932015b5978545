import type { Node, OwnNode } from "../../nodes/model.ts";
import { system } from "../../system.ts";
import type { Store } from "../store.ts";

/** Makes the list of nodes of a database that one server has for itself. */
export function createLoneNode(): Pick<Store, "join" | "nodes"> {
	let own: OwnNode | undefined;
	const seen = (node: OwnNode): Node => ({ ...node, seen_at: system.now().toISOString(), status: "active" });
	return {
		async join(node) {
			own = node;
		},
		nodes: async () => (own === undefined ? [] : [seen(own)]),
	};
}
