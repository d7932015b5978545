import * as v from "valibot";
import type { Visitor } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { confirmedFactors, passkeyProofOf, type SignedPasskey } from "../factors/use.ts";
import { Uuid } from "../messages.ts";
import { note, openSession, type PasswordLoginNeeds, type SignedIn } from "./login.ts";

/**
 * Signs in with a passkey alone: it names the account, and its authenticator has verified who holds it. Unknown account, disabled account and foreign
 * passkey give the same answer.
 * @throws AppError invalid_credentials (also for a copy of a passkey, which then ends), rate_limited, overloaded (too many at once)
 * Design: §16
 */
export async function loginWithPasskey(
	needs: PasswordLoginNeeds,
	visitor: Visitor,
	passkey: SignedPasskey,
): Promise<SignedIn> {
	const handle = Buffer.from(passkey.answer.response.userHandle, "base64url").toString();
	const account = v.is(Uuid, handle) ? await needs.store.accounts.byId(handle) : undefined;
	// An unknown handle has its own count, as an account has; otherwise the answers would differ.
	const name = account?.email ?? `a passkey of ${handle}`;
	return needs.throttle.attempt(needs.passwords, name, visitor.ip, async (failed) => {
		const isOpen = account !== undefined && account.disabled_at === null && account.password !== null;
		const factors = isOpen ? await confirmedFactors(needs, account.id) : [];
		const proof = await passkeyProofOf(needs, factors, passkey);
		const opened = isOpen && proof && (await openSession(needs, visitor, account, proof, "passkey"));
		if (typeof opened === "object") return opened;
		await failed();
		const reason = opened === "cloned" ? "cloned" : "passkey";
		await note(needs, visitor, account?.id ?? "unknown", reason, "passkey");
		throw new AppError("invalid_credentials", opened === "cloned" ? CLONED : REFUSED);
	});
}

const REFUSED = "the passkey was not accepted: try again, or sign in with your password";

const CLONED =
	"a copy of this passkey exists, so it is disabled: sign in with your password, remove the passkey and look at your audit log";
