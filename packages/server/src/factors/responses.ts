import { isIP } from "node:net";
import * as v from "valibot";
import { errorMessage } from "../messages.ts";

/** COSE algorithms of new passkeys, the preferred one first: Ed25519, ES256, RS256. The library would take further ones, with keys of a kilobyte. */
export const ALGORITHMS = [-8, -7, -257] as const;

/** Most characters of each part of an answer: an RSA key with its frame takes 800. */
const MAX_PART = 4096;

const UNREADABLE = errorMessage("validation_failed", "the browser's answer cannot be read: try again");

const Part = v.pipe(v.string(UNREADABLE), v.maxLength(MAX_PART, UNREADABLE), v.regex(/^[\w-]+$/, UNREADABLE));

const CREDENTIAL = { id: Part, rawId: Part, type: v.literal("public-key", UNREADABLE) };

/** A new passkey, as browsers write it down (WebAuthn, RegistrationResponseJSON). Design: §16 */
export const RegistrationResponse = v.object({
	...CREDENTIAL,
	response: v.object({ clientDataJSON: Part, attestationObject: Part }),
});
export type RegistrationResponse = v.InferOutput<typeof RegistrationResponse>;

/** Something that a passkey signed (WebAuthn, AuthenticationResponseJSON). It always names the account: nobody types an e-mail. Design: §16 */
export const AuthenticationResponse = v.object({
	...CREDENTIAL,
	response: v.object({ clientDataJSON: Part, authenticatorData: Part, signature: Part, userHandle: Part }),
});
export type AuthenticationResponse = v.InferOutput<typeof AuthenticationResponse>;

/** Finds the host that passkeys of a server are for. Browsers make none for an IP address: then it is undefined. */
export function passkeyHost(address: string): string | undefined {
	const { hostname } = new URL(address);
	return hostname.startsWith("[") || isIP(hostname) !== 0 ? undefined : hostname;
}
