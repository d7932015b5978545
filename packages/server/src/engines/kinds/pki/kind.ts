import type { Fields } from "@svc/protocol";
import type { EventData } from "../../../audit/model.ts";
import type { Environment, Kind } from "../kind.ts";
import { VARIABLES } from "../variables.ts";
import { authorityOf, hasAuthority, withoutAuthority } from "./authority.ts";

/** The certificate authority. It signs as a given authority, else as each realm's own. Spec: ENGINES › Certificate authority engine */
export const pki: Kind = {
	destination: [],
	variables: VARIABLES.pki,
	environment: environmentOf,
	facts: certificateFacts,
	realmPart: {
		isGiven: hasAuthority,
		paramsOf: authorityOf,
		shared: "these realms share one authority, and trust each other's certificates",
	},
};

function environmentOf(server: Environment, configured: Environment, is_served: boolean): Environment {
	const environment = { ...(is_served ? server : withoutAuthority(server)), ...configured };
	// Without a given authority, each request brings one: realms share the processes.
	return hasAuthority(environment) ? environment : { ...withoutAuthority(environment), SVC_PKI_CA_PER_REQUEST: "true" };
}

/** Selects the facts of a certificate for the log: never its key. */
function certificateFacts({ serial, common_name, san, expires_at }: Fields): EventData {
	const text = (value: unknown) => (typeof value === "string" ? value : undefined);
	return {
		serial: text(serial),
		common_name: text(common_name),
		san: Array.isArray(san) && san.length > 0 ? san.join(",").slice(0, 1024) : undefined,
		expires_at: text(expires_at),
	};
}
