import { setImmediate as nextTurn } from "node:timers/promises";
import type { Ldap } from "./ldap/ldap.ts";
import type { Oidc } from "./oidc/oidc.ts";
import type { Saml, ServiceProvider } from "./saml/saml.ts";

/** The protocols, loaded when the first provider that speaks one is used. */
export interface Protocols {
	oidc(): Promise<Oidc>;
	saml(): Promise<Saml>;
	ldap(): Promise<Ldap>;
	/** Ends what was started. */
	close(): Promise<void>;
}

/** Makes the loader: together they take memory that a server without single sign-on need not spend. */
export function createProtocols(): Protocols {
	const oidc = once(async () => {
		// In a turn of its own: loaded at once with what uses it, it held the event loop up for 12 ms.
		await import("openid-client");
		await nextTurn();
		return (await import("./oidc/oidc.ts")).createOidc();
	});
	const saml = once(async () => (await import("./saml/saml.ts")).createSaml());
	const ldap = once(async () => (await import("./ldap/ldap.ts")).createLdap());
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
			made ??= make();
			return made;
		},
		made: async () => made,
	};
}

export type { ServiceProvider };
