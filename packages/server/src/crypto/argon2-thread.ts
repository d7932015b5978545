import { setPriority } from "node:os";
import { hashSync, verifySync } from "@node-rs/argon2";
import { answerQuestions } from "../threads/answer-questions.ts";

/** Argon2id, 64 MiB, three passes, one lane: 40 ms. Design: §6. */
const COST = { memoryCost: 65_536, timeCost: 3, parallelism: 1 };

/** A hash of our own cost. The stored text sets the cost of a comparison: a foreign one may take 2 GiB and 13 s. Design: §13 */
const OURS = /^\$argon2id\$v=19\$m=65536,t=3,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

/** Lower than that of the threads that answer requests: a storm of logins takes only what they leave. */
const PRIORITY = 10;

/** A request to the thread: to hash, or to compare with a stored hash. */
export interface PasswordQuestion {
	password: string;
	stored: string | undefined;
}

/** A hash, the result of a comparison, or a sign that the stored hash is malformed. */
export type PasswordAnswer = { hash: string } | { matches: boolean } | { malformed: true };

if (process.platform === "linux") stepBack();

answerQuestions(({ password, stored }: PasswordQuestion) => answer(password.normalize("NFKC"), stored));

function answer(password: string, stored: string | undefined): PasswordAnswer {
	if (stored === undefined) return { hash: hashSync(password, COST) };
	if (!OURS.test(stored)) return { malformed: true };
	try {
		return { matches: verifySync(stored, password) };
	} catch {
		return { malformed: true };
	}
}

/** Lowers the priority, on Linux of the calling thread alone. The service's unit forbids it, and nothing depends on it. */
function stepBack(): void {
	try {
		setPriority(PRIORITY);
	} catch {}
}
