import { engineCapabilities } from "@svc/protocol";
import { createEngineConnector } from "../engine-connector.ts";
import type { ConnectNeeds, Kind } from "../kind.ts";

/** Every engine that does not come with the server: the core knows only that it keeps the contract. packages/protocol/README.md */
export const thirdParty: Kind = {
	async connect(needs) {
		return engineCapabilities(needs.descriptor).includes("dynamic_credentials") ? connect(needs) : undefined;
	},
};

function connect(needs: ConnectNeeds) {
	const takesNames = engineCapabilities(needs.descriptor).includes("lease_hint");
	return {
		...createEngineConnector(needs, {
			// Names that the core chose can be compared with the ledger.
			scopes: takesNames ? [""] : [],
			revokeParams: ({ lease_id: id, name }) => ({ _lease: { id, name } }),
			nameIn: ({ name, username }) => [username, name].find((text) => typeof text === "string"),
			isForeign: true,
		}),
		keepsPayload: true as const,
		/** Takes every text among the params as a candidate for the name. */
		async readRevoke({ params }: { params: Record<string, unknown> }) {
			const texts = Object.values(params).filter((value) => typeof value === "string" && value !== "");
			return { texts: texts as string[], scope: "", answer: { valid: true, message: "credentials revoked" } };
		},
	};
}
