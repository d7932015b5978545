import type { Environment, Kind } from "../kind.ts";
import { authorityOf, hasAuthority, withoutAuthority } from "./authority.ts";

/** The certificate authority. It signs as a given authority, else as each realm's own. Spec: ENGINES › Certificate authority engine */
export const pki: Kind = {
	destination: [],
	variables: /^SVC_PKI_/,
	environment: environmentOf,
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
