import { randomBytes } from "node:crypto";
import { type Authority, createAuthority, faultOfName, type KeptAuthority, loadAuthority } from "@svc/x509";

/** The engine's settings. */
export interface Settings {
	/** Undefined when there is none to sign with. `per request`: the server passes the asking realm's authority each time. */
	authority: Authority | "per request" | undefined;
	/** Organization of issued subjects; empty when they have none. */
	organization: string;
}

/** An unusable setting. The message names it and contains nothing of it. */
export class SettingsError extends Error {
	override readonly name = "SettingsError";
}

/**
 * Reads SVC_PKI_CA_CERT, SVC_PKI_CA_KEY and SVC_PKI_ORGANIZATION. Unless certificate and key are both set, it makes an authority that ends with
 * the process; with SVC_PKI_CA_PER_REQUEST, which the server sets, it makes none: each request brings its own.
 * @param warn takes warnings for the engine's operator
 * @param make makes the authority
 * @throws SettingsError
 * Spec: ENGINES › Certificate authority engine
 */
export async function readSettings(
	env: NodeJS.ProcessEnv,
	warn: (text: string) => void,
	make = createAuthority,
): Promise<Settings> {
	const { SVC_PKI_CA_CERT: certificate, SVC_PKI_CA_KEY: private_key, SVC_PKI_ORGANIZATION: organization = "" } = env;
	const isPerRequest = env.SVC_PKI_CA_PER_REQUEST === "true";
	const fault = faultOfName(organization);
	if (fault !== undefined) throw new SettingsError(`SVC_PKI_ORGANIZATION ${fault}`);
	if (certificate && private_key) return { authority: load({ certificate, private_key }), organization };
	if (isPerRequest) return { authority: "per request", organization };
	warn(
		"SVC_PKI_CA_CERT and SVC_PKI_CA_KEY are not both set: certificates are signed by an ephemeral CA, which ends with this process",
	);
	return { authority: await makeEphemeral(organization, warn, make), organization };
}

function load(kept: KeptAuthority): Authority {
	try {
		return loadAuthority(kept);
	} catch (error) {
		throw new SettingsError(
			`SVC_PKI_CA_CERT and SVC_PKI_CA_KEY: ${error instanceof Error ? error.message : "unusable"}`,
			{ cause: error },
		);
	}
}

/** Undefined when making it fails: the engine then answers that no CA is loaded, which a ping shows. */
async function makeEphemeral(
	organization: string,
	warn: (text: string) => void,
	make: typeof createAuthority,
): Promise<Authority | undefined> {
	try {
		return loadAuthority(await make({ common_name: "svc ephemeral CA", organization, now: new Date(), randomBytes }));
	} catch (error) {
		warn(`the ephemeral CA could not be made: ${error instanceof Error ? error.message : "unknown failure"}`);
		return undefined;
	}
}
