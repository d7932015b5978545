import { createHmac } from "node:crypto";
import { AppError } from "../errors.ts";
import type { Actor } from "../policy/model.ts";
import { isConfirmed } from "./decide.ts";
import { addPending, confirmPending, type FactorNeeds, findPending, notPending } from "./factors.ts";
import type { Factor } from "./model.ts";
import type { Asked } from "./owner.ts";
import { ALGORITHMS, passkeyHost, type RegistrationResponse } from "./responses.ts";
import { checkedCode, loadWebauthn, openFactor, openPasskey, sealPasskey } from "./use.ts";

/** Bytes of the secret from which the challenges of a new passkey are made. */
const SECRET_BYTES = 32;

/** Milliseconds for which a browser may ask its owner. */
const PATIENCE_MS = 5 * 60_000;

/** Options for `navigator.credentials.create` (WebAuthn, PublicKeyCredentialCreationOptionsJSON). */
interface CreationOptions {
	challenge: string;
	[option: string]: unknown;
}

/**
 * Begins to add a passkey: its name and host are kept for 15 minutes, in which a browser must make it.
 * @returns the id of the factor
 * @throws AppError unsupported_operation (an API token, or a server without a host name), missing_field, wrong_password, wrong_code, conflict (no
 * password), limit_reached, rate_limited
 * Design: §16
 */
export async function addPasskey(
	needs: FactorNeeds,
	actor: Actor,
	{ name, ...asked }: Asked & { name: string },
): Promise<string> {
	const rp_id = passkeyHost(needs.address());
	if (rp_id === undefined)
		throw new AppError("unsupported_operation", "this server is reached at an IP address: passkeys need a host name");
	const secret = Buffer.concat([needs.system.randomBytes(SECRET_BYTES), Buffer.from(actor.jti ?? "")]);
	return addPending(needs, actor, asked, { type: "passkey", name, rp_id }, secret);
}

/** Makes the options with which the caller's browser makes a passkey; undefined in a session that did not begin it. @param factors of the account */
export async function creationOptions(
	needs: Pick<FactorNeeds, "keyring">,
	{ user_id, email, name, jti = "" }: Actor,
	pending: Factor,
	factors: readonly Factor[],
): Promise<CreationOptions | undefined> {
	const challenge = challengeFor(await openFactor(needs, pending), jti);
	if (challenge === undefined) return undefined;
	const others = factors.filter((one) => one.type === "passkey" && isConfirmed(one));
	const opened = await Promise.all(others.map((one) => openPasskey(needs, one)));
	const user = { id: Buffer.from(user_id).toString("base64url"), name: email, displayName: name === "" ? email : name };
	return {
		challenge,
		rp: { id: pending.rp_id, name: "svc" },
		user,
		pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
		timeout: PATIENCE_MS,
		attestation: "none",
		authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
		excludeCredentials: opened.map(({ credential_id: id }) => ({ type: "public-key", id })),
	};
}

/**
 * Confirms a passkey with what the browser answered: from then on it signs in alone, and a login with the password asks for a code.
 * @returns recovery codes, shown once; none for an account that has some
 * @throws AppError unsupported_operation, not_found (also in a session that did not begin it), wrong_code, rate_limited
 * Design: §16
 */
export async function confirmPasskey(
	needs: FactorNeeds,
	actor: Actor,
	id: string,
	answer: RegistrationResponse,
): Promise<{ recovery_codes: string[] }> {
	const factor = await findPending(needs, actor, id, "passkey");
	const expected = challengeFor(await openFactor(needs, factor), actor.jti ?? "");
	if (expected === undefined) throw notPending();
	const { origin } = new URL(needs.address());
	const isChallenge = (challenge: string) => challenge === expected;
	const made = await checkedCode(needs, actor, undefined, async () => {
		const { verifyRegistration } = await loadWebauthn();
		return verifyRegistration(answer, ALGORITHMS, { origin, rp_id: factor.rp_id ?? "", isChallenge });
	});
	const sealed = await sealPasskey(needs, factor, made);
	return confirmPending(needs, actor, factor, { step: made.count, sealed });
}

/** Makes the challenge of a new passkey from its secret, which names the session that proved the password; undefined in any other. */
function challengeFor(secret: Buffer, jti: string): string | undefined {
	if (!secret.subarray(SECRET_BYTES).equals(Buffer.from(jti))) return undefined;
	return createHmac("sha256", secret).update("new passkey").digest("base64url");
}
