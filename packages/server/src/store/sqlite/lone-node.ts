import { OWN_CLAIMS } from "../../leases/model.ts";
import { type Node, OWN_DUTIES, type OwnNode } from "../../nodes/model.ts";
import { system } from "../../system.ts";
import type { Store } from "../store.ts";

/** Makes the node operations of a store that only one server uses. */
export function createLoneNode(): Pick<
	Store,
	"alone" | "claims" | "duties" | "join" | "keepUp" | "nodes" | "readKeysWith" | "reportAltered" | "time"
> {
	let own: OwnNode | undefined;
	const seen = (node: OwnNode): Node => ({ ...node, seen_at: system.now().toISOString(), status: "active" });
	return {
		claims: OWN_CLAIMS,
		duties: OWN_DUTIES,
		alone: (work) => work(),
		keepUp: undefined,
		time: undefined,
		readKeysWith: () => undefined,
		reportAltered: async () => undefined,
		async join(node) {
			own = node;
		},
		nodes: async () => (own === undefined ? [] : [seen(own)]),
	};
}
