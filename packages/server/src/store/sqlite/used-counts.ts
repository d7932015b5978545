import { createCache } from "../../cache.ts";
import { MAX_USED } from "../../trusts/model.ts";

/** Milliseconds for which a realm's count is used: if its memory is full, and if not. */
const [OF_FULL_MS, KEPT_MS] = [10_000, 60_000];

/** Realms whose counts are remembered. */
const MAX_REALMS = 1000;

interface Counted {
	count: number;
	/** Unix milliseconds. */
	counted_at: number;
}

/**
 * Keeps the numbers of used JWTs of realms for the writer: to count 50,000 takes milliseconds, in which nobody else can write. JWTs that have expired
 * since, and one whose exchange was rolled back, count until the realm is counted again.
 */
export class UsedCounts {
	readonly #counts = createCache<string, Counted>(MAX_REALMS);

	/** Recalls a realm's count; undefined when it must be counted again. @param now ISO 8601 UTC */
	recall(realm_id: string, now: string): number | undefined {
		const known = this.#counts.get(realm_id);
		if (known === undefined) return undefined;
		const age_ms = Date.parse(now) - known.counted_at;
		const kept_ms = known.count >= MAX_USED ? OF_FULL_MS : KEPT_MS;
		// A clock that was set back makes it negative.
		return age_ms >= 0 && age_ms < kept_ms ? known.count : undefined;
	}

	/** Remembers what was counted. @param now ISO 8601 UTC */
	counted(realm_id: string, count: number, now: string): number {
		this.#counts.set(realm_id, { count, counted_at: Date.parse(now) });
		return count;
	}

	/** Adds a JWT that is used now. */
	add(realm_id: string): void {
		const known = this.#counts.get(realm_id);
		if (known !== undefined) known.count++;
	}
}
