/* The only source that names the library: it is large, and loaded when the first passkey is used. The single binary has it in a script of its own. */
import {
	type AuthenticationResponseJSON,
	type RegistrationResponseJSON,
	verifyAuthenticationResponse,
	verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { decodeAttestationObject, isoBase64URL, isoCBOR } from "@simplewebauthn/server/helpers";
import type { AuthenticationResponse, RegistrationResponse } from "./responses.ts";

/** Purpose that an answer must have. */
export interface Expected {
	/** Address of the console, without a path. */
	origin: string;
	rp_id: string;
	isChallenge(challenge: string): boolean;
}

/** A passkey as its authenticator made it. */
export interface NewPasskey {
	credential_id: string;
	public_key: Buffer;
	/** Signatures so far; an authenticator that does not count says 0. */
	count: number;
}

const checksFor = ({ origin, rp_id, isChallenge }: Expected) => ({
	expectedOrigin: origin,
	expectedRPID: rp_id,
	expectedChallenge: isChallenge,
	requireUserVerification: true,
});

/** Verifies a new passkey; undefined when anything does not fit. @param algorithms those that it may have, by their COSE numbers */
export async function verifyRegistration(
	answer: RegistrationResponse,
	algorithms: readonly number[],
	expected: Expected,
): Promise<NewPasskey | undefined> {
	const { registrationInfo } = await orNothing(async () => {
		const bare = { ...answer.response, attestationObject: withoutAttestation(answer.response.attestationObject) };
		const response: RegistrationResponseJSON = { ...answer, response: bare, clientExtensionResults: {} };
		const given = { ...checksFor(expected), response, supportedAlgorithmIDs: [...algorithms] };
		return verifyRegistrationResponse(given);
	});
	if (registrationInfo === undefined) return undefined;
	const { id, publicKey, counter } = registrationInfo.credential;
	return { credential_id: id, public_key: Buffer.from(publicKey), count: counter };
}

/**
 * Verifies what a passkey signed, but for its count, which the transaction compares: the library would not tell a copy from a forgery.
 * @returns the count; undefined when anything does not fit
 */
export async function verifyAuthentication(
	answer: AuthenticationResponse,
	public_key: Buffer,
	expected: Expected,
): Promise<number | undefined> {
	const response: AuthenticationResponseJSON = { ...answer, clientExtensionResults: {} };
	const credential = { id: answer.id, publicKey: new Uint8Array(public_key), counter: 0 };
	const given = { ...checksFor(expected), response, credential };
	const { verified, authenticationInfo } = await orNothing(() => verifyAuthenticationResponse(given));
	return verified === true ? authenticationInfo?.newCounter : undefined;
}

/** Takes an error of the library for a refusal: it throws plain ones, with parts of the input in them. */
async function orNothing<Result extends { verified: boolean }>(
	verify: () => Promise<Result>,
): Promise<Partial<Result>> {
	try {
		const result = await verify();
		return result.verified ? result : {};
	} catch {
		return {};
	}
}

/** Leaves the attestation out: nobody asks for one, and of some formats the library fetches addresses that the caller's own certificates name. */
function withoutAttestation(text: string): string {
	const authData = decodeAttestationObject(isoBase64URL.toBuffer(text)).get("authData");
	const bare = new Map<string, string | Uint8Array | Map<string, never>>([
		["fmt", "none"],
		["attStmt", new Map<string, never>()],
		["authData", authData],
	]);
	return isoBase64URL.fromBuffer(isoCBOR.encode(bare as never));
}
