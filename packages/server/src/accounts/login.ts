import * as v from "valibot";
import { type Visitor, visitorEvent } from "../audit/model.ts";
import { verifyPassword } from "../crypto/password.ts";
import { AppError } from "../errors.ts";
import type { FactorStore } from "../factors/model.ts";
import { confirmedFactors, countWrongCode, type FactorUseNeeds, proofOf, refuseGuesser } from "../factors/use.ts";
import type { AccountNeeds, Profile } from "./accounts.ts";
import { type Account, Email, type FactorProof } from "./model.ts";
import { newSession } from "./session.ts";
import type { Failed } from "./throttle.ts";

/** Dependencies of signing in with a password. */
export interface PasswordLoginNeeds extends Omit<AccountNeeds, "keyring"> {
	store: AccountNeeds["store"] & { factors: Pick<FactorStore, "ofUser" | "recoveryCodes" | "signIn"> };
	keyring: FactorUseNeeds["keyring"];
}

/** Credentials as a visitor typed them. */
interface Typed {
	email: string;
	password: string;
	/** Of the second factor. */
	code?: string | null | undefined;
}

/** The session token, its end in Unix seconds, and its owner. */
export interface SignedIn {
	token: string;
	expires_at: number;
	user: Profile;
}

/**
 * Signs in with a password, and a code where the account has a second factor. Unknown e-mail, disabled account and wrong password give the same
 * answer in the same time.
 * @throws AppError invalid_credentials, second_factor_required (the password is right), rate_limited, overloaded (too many at once)
 * Spec: API › Accounts and login. Design: §16
 */
export function login(needs: PasswordLoginNeeds, visitor: Visitor, typed: Typed): Promise<SignedIn> {
	const attempt = (failed: Failed) => tryLogin(needs, visitor, typed, failed);
	return needs.throttle.attempt(needs.passwords, typed.email, visitor.ip, attempt);
}

async function tryLogin(needs: PasswordLoginNeeds, visitor: Visitor, typed: Typed, failed: Failed): Promise<SignedIn> {
	const account = await needs.store.accounts.byEmail(typed.email);
	const isRight = await verifyPassword(account?.password ?? undefined, typed.password);
	if (account !== undefined && isRight && account.disabled_at === null) {
		const proof = await proveFactor(needs, visitor, account, typed, failed);
		const opened = await openSession(needs, visitor, account, proof);
		if (opened === "used" || opened === "cloned")
			throw await refuseCode(needs, visitor, account, typed.code ?? "", failed);
		if (opened !== "changed") return opened;
	}
	await failed();
	// The log keeps only text that looks like an e-mail: people type passwords into the wrong field.
	const actor = account?.id ?? (v.is(Email, typed.email) ? typed.email : "unknown");
	await note(needs, visitor, actor, failure(account, isRight));
	throw new AppError("invalid_credentials", "invalid email or password");
}

function failure(account: Account | undefined, isRight: boolean): string {
	if (account === undefined) return "unknown";
	return isRight ? "disabled" : "password";
}

/** Asks for a code where the account has a second factor. A right password without one is in the log: somebody other than its owner may know it. */
async function proveFactor(
	needs: PasswordLoginNeeds,
	visitor: Visitor,
	account: Account,
	{ code }: Typed,
	failed: Failed,
): Promise<FactorProof | undefined> {
	const factors = await confirmedFactors(needs, account.id);
	if (factors.length === 0) return undefined;
	if (code == null) {
		await note(needs, visitor, account.id, "second_factor");
		throw new AppError(
			"second_factor_required",
			"the account has a second factor: repeat this with code, one of your authenticator app or a recovery code",
		);
	}
	await refuseGuesser(needs, { email: account.email, ip: visitor.ip }, code);
	const proof = await proofOf(needs, account.id, factors, code);
	if (proof === undefined) throw await refuseCode(needs, visitor, account, code, failed);
	return proof;
}

/** Counts a wrong code, or one that was used already. @returns the refusal, for you to throw */
async function refuseCode(
	needs: PasswordLoginNeeds,
	visitor: Visitor,
	{ id, email }: Account,
	code: string,
	failed: Failed,
): Promise<AppError> {
	await countWrongCode(needs, { email, ip: visitor.ip }, code, failed);
	await note(needs, visitor, id, "code");
	return new AppError(
		"invalid_credentials",
		"the code is wrong or was used already: wait for the next one of your app, or use a recovery code",
	);
}

/** Notes a failed login. @param method `passkey` for one without a password */
export async function note(
	{ store, system }: PasswordLoginNeeds,
	visitor: Visitor,
	actor: string,
	reason: string,
	method: "password" | "passkey" = "password",
): Promise<void> {
	const facts = { method, reason };
	await store.audit.append(visitorEvent(visitor, system.now(), "auth.login.failed", actor, facts));
}

/** Opens a session for an account that has just proved who it is, unless the account changed meanwhile or the proof was used. @param method `passkey` for one without a password */
export async function openSession(
	needs: PasswordLoginNeeds,
	visitor: Visitor,
	account: Account,
	proof: FactorProof | undefined,
	method: "password" | "passkey" = "password",
): Promise<SignedIn | "changed" | "used" | "cloned"> {
	const { id, email, name, password } = account;
	const { token, expires_at, session } = await newSession(needs, id);
	const signed = { token, expires_at, user: { id, email, name } };
	const known = needs.known_sources.note(email, visitor.ip);
	const { accounts, factors } = needs.store;
	const event = (facts: { factor?: string; factor_id?: string }) =>
		visitorEvent(visitor, needs.system.now(), "auth.login", id, { method, ...facts });
	if (proof === undefined || password === null)
		return (await accounts.openSession({ session, password, known }, event({}))) ? signed : "changed";
	const factor = method === "passkey" ? "passkey" : "totp";
	const facts = "digest" in proof ? { factor: "recovery" } : { factor, factor_id: proof.factor_id };
	const outcome = await factors.signIn({ session, password, known, proof }, event(facts));
	return outcome === "done" ? signed : outcome;
}
