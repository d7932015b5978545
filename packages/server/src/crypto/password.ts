import { hash, verify } from "@node-rs/argon2";
import { AppError } from "../errors.ts";
import { createGate } from "./gate.ts";

/** Argon2id, 64 MiB, three passes, one lane: 40 ms. Design: §6. */
const COST = { memoryCost: 65_536, timeCost: 3, parallelism: 1 };

/**
 * A hash of the same cost that no password is known to match: its salt and tag were drawn at random.
 * Whoever has no account is checked against it, so that the time of an answer does not tell which e-mails have one.
 */
export const NOBODYS_HASH =
	"$argon2id$v=19$m=65536,t=3,p=1$imXguMoHmobb19CpX+JQtg$Ze11aEmHheb6skFfs3iAP2pHY1pOFIwiW7/+d2gzXA8";

/** Argon2 works in the thread pool that files and name look-ups share, and each hash holds 64 MiB: two at once, in the whole process. */
const turn = createGate(2, 64);

/**
 * Hashes a password for storage, after NFKC so that every keyboard's form of it is the same.
 * @returns PHC text with its own random salt
 * @throws AppError unhealthy when too many are waiting
 */
export function hashPassword(password: string): Promise<string> {
	return turn(() => hash(password.normalize("NFKC"), COST));
}

/**
 * Whether the password is the one that was hashed. It takes as long when there is no hash, and is false then.
 * @throws AppError unhealthy when too many are waiting, internal_error when the stored hash is malformed
 */
export function verifyPassword(stored: string | undefined, password: string): Promise<boolean> {
	return turn(async () => {
		try {
			return await verify(stored ?? NOBODYS_HASH, password.normalize("NFKC"));
		} catch (cause) {
			throw new AppError("internal_error", "a stored password hash is malformed", { cause });
		}
	});
}
