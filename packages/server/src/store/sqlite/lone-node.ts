import { OWN_CLAIMS } from "../../leases/model.ts";
import { type Node, OWN_DUTIES, type OwnNode, type ReportedKeys } from "../../nodes/model.ts";
import { system } from "../../system.ts";
import type { Store } from "../store.ts";

/** Makes the node operations of a store that only one server uses, without a network in between. @param onRefusal notes that the server refuses every request */
export function createLoneNode(
	onRefusal: () => void,
): Pick<
	Store,
	| "alone"
	| "answerSeconds"
	| "claims"
	| "duties"
	| "durability"
	| "isSuperuser"
	| "join"
	| "keepUp"
	| "nodes"
	| "readKeysWith"
	| "reportAltered"
	| "time"
> {
	let own: (() => Promise<Node>) | undefined;
	const describe = async (node: OwnNode, report: () => Promise<ReportedKeys>): Promise<Node> => ({
		...{ ...node, ...(await report()) },
		...{ seen_at: system.now().toISOString(), status: "active" },
	});
	return {
		claims: OWN_CLAIMS,
		duties: OWN_DUTIES,
		alone: (work) => work(),
		keepUp: undefined,
		time: undefined,
		answerSeconds: () => undefined,
		isSuperuser: async () => false,
		durability: async () => undefined,
		readKeysWith: () => undefined,
		reportAltered: async () => onRefusal(),
		async join(node, report) {
			own = () => describe(node, report);
		},
		nodes: async () => (own === undefined ? [] : [await own()]),
	};
}
