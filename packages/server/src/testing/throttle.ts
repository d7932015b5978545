import { createThrottle, type Throttle } from "../accounts/throttle.ts";
import { attemptsInMemory } from "../store/memory/attempts.ts";

/**
 * Makes a throttle that counts in memory alone.
 * @param now monotonic milliseconds
 * @param beforeRefusal delay of a refusal that waits
 */
export function createTestThrottle(
	known: Parameters<typeof createThrottle>[0],
	now?: () => number,
	beforeRefusal?: () => Promise<unknown>,
): Throttle {
	return createThrottle(known, attemptsInMemory(now), { ...(now && { now }), ...(beforeRefusal && { beforeRefusal }) });
}
