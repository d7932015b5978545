import type { Limit, Limits } from "../limits.ts";
import { releaseSlot } from "../request-slot.ts";
import type { Ldap } from "./ldap/ldap.ts";
import type { SsoStore } from "./model.ts";
import type { Oidc } from "./oidc/oidc.ts";
import type { Saml, ServiceProvider } from "./saml/saml.ts";

/** The protocols. Each is loaded with its first provider: together they need memory that most servers can save. */
export interface Protocols {
	oidc(): Promise<Oidc>;
	saml(): Promise<Saml>;
	ldap(): Promise<Ldap>;
	/** Ends the threads that the protocols started. */
	close(): Promise<void>;
}

/** Loads the protocols of the existing providers, so that no first login blocks the event loop while one is loaded: 12 ms. */
export async function loadProtocols(protocols: Protocols, store: Pick<SsoStore, "providers">): Promise<void> {
	for (const { type } of await store.providers()) await protocols[type]();
}

/** Makes the loader. @param limits to which a protocol adds its own when it is loaded */
export function createProtocols(limits: Pick<Limits, "add">): Protocols {
	const counted = <Made extends { limits: readonly Limit[] }>(made: Made) => {
		for (const limit of made.limits) limits.add(limit);
		return made;
	};
	const oidc = once(async () => counted((await import("./oidc/oidc.ts")).createOidc()));
	const saml = once(async () => counted((await import("./saml/saml.ts")).createSaml()));
	const ldap = once(async () => counted((await import("./ldap/ldap.ts")).createLdap()));
	return {
		oidc: oidc.get,
		saml: saml.get,
		ldap: ldap.get,
		async close() {
			await (await saml.made())?.close();
			await (await ldap.made())?.close();
		},
	};
}

function once<Made>(make: () => Promise<Made>) {
	let made: Promise<Made> | undefined;
	return {
		get: () => {
			// A login that needs a protocol is about to wait for a provider.
			releaseSlot();
			made ??= make();
			return made;
		},
		made: async () => made,
	};
}

export type { ServiceProvider };
