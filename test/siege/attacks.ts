import type { Attack } from "./attack.ts";
import { ANSWERS } from "./attacks/answers.ts";
import { CONSOLE } from "./attacks/console.ts";
import { ENGINES } from "./attacks/engine.ts";
import { PASSWORDS } from "./attacks/passwords.ts";
import { PIPELINING } from "./attacks/pipelining.ts";
import { REQUESTS } from "./attacks/requests.ts";
import { SIGN_IN } from "./attacks/sign-in.ts";
import { SILENCE } from "./attacks/silence.ts";
import { SLOWNESS } from "./attacks/slowness.ts";
import { TRUSTS } from "./attacks/trusts.ts";

/** Every attack, by name. */
export const ATTACKS: ReadonlyMap<string, Attack> = new Map(
	[
		...[...SILENCE, ...SLOWNESS, ...PIPELINING, ...REQUESTS, ...ANSWERS, CONSOLE],
		...[...PASSWORDS, SIGN_IN, TRUSTS, ...ENGINES],
	].map((attack) => [attack.name, attack]),
);

/** Pairs of simultaneous attacks that use up the same resource. */
export const PAIRS: readonly (readonly [string, string])[] = [
	["unread", "argon2-many"],
	["silent-plain", "flood"],
];

/** Returns the attack of this name. @throws Error naming all attacks when none matches */
export function attackNamed(name: string): Attack {
	const found = ATTACKS.get(name);
	if (found === undefined) throw new Error(`the attacks are ${[...ATTACKS.keys()].join(", ")}`);
	return found;
}
