import type { Limit } from "../limits.ts";
import type { Filled, Fullest, RealmLimits, RealmStore } from "./model.ts";

/** Milliseconds for which a look at all realms holds. */
const FRESH_MS = 60_000;

/** The limits of realms and of their owners, with who is nearest to them. Whoever has a limit of its own counts by its share of that. Design: §13 */
export function realmLimits(store: { realms: Pick<RealmStore, "fullest"> }, limits: RealmLimits): Limit[] {
	let looked_at = Number.NEGATIVE_INFINITY;
	let fullest: Promise<Fullest> | undefined;
	const look = (): Promise<Fullest> => {
		const now = performance.now();
		if (fullest === undefined || now - looked_at >= FRESH_MS) {
			looked_at = now;
			fullest = store.realms.fullest(limits);
			fullest.catch(() => {
				fullest = undefined;
			});
		}
		return fullest;
	};
	const one = (name: string, max: number, kind: keyof Fullest, hint: string): Limit => ({
		name,
		max,
		hint,
		used: async () => Math.round(shareOf((await look())[kind][0]) * max),
		nearest: async () => (await store.realms.fullest(limits))[kind],
	});
	const raise = "`svc users limits` raises it for the owner";
	return [
		one("realm_bytes", limits.realm_bytes, "realms", `delete secrets that are not needed, or ${raise}`),
		one("realms_per_account", limits.realms_per_account, "accounts", raise),
	];
}

function shareOf(filled: Filled | undefined): number {
	return filled === undefined ? 0 : filled.used / Math.max(1, filled.max);
}
