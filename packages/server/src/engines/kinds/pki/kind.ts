import type { Environment, Kind } from "../kind.ts";
import { authorityOf, hasAuthority, withoutAuthority } from "./authority.ts";

/** The certificate authority. It signs with the authority that it is given, else with one that the server makes for each realm. Spec: ENGINES › Certificate authority engine */
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
	// What stands in for an authority comes with each request: no process is a realm's own.
	return hasAuthority(environment) ? environment : { ...withoutAuthority(environment), SVC_PKI_CA_PER_REQUEST: "true" };
}
