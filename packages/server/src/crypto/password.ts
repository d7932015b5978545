import { AppError } from "../errors.ts";
import { computeArgon2 } from "./argon2.ts";

/**
 * A hash of the same cost that no known password matches: its salt and tag are random.
 * Logins without an account are checked against it, so that the time of an answer does not tell which e-mails have one.
 */
export const DUMMY_HASH =
	"$argon2id$v=19$m=65536,t=3,p=1$imXguMoHmobb19CpX+JQtg$Ze11aEmHheb6skFfs3iAP2pHY1pOFIwiW7/+d2gzXA8";

/**
 * Hashes a password for storage, after NFKC, so that every keyboard's form of it is the same.
 * @returns PHC text with its own random salt
 * @throws AppError internal_error
 */
export async function hashPassword(password: string): Promise<string> {
	const answer = await computeArgon2({ password, stored: undefined });
	if ("hash" in answer) return answer.hash;
	throw new AppError("internal_error", "the password could not be hashed");
}

/**
 * Tells whether the password matches the hash. Takes as long when there is no hash.
 * @throws AppError internal_error when the stored hash is malformed or of another cost
 */
export async function verifyPassword(stored: string | undefined, password: string): Promise<boolean> {
	const answer = await computeArgon2({ password, stored: stored ?? DUMMY_HASH });
	if ("matches" in answer) return answer.matches;
	throw new AppError("internal_error", "a stored password hash is malformed");
}
