import { MAX_ACCOUNTS, MAX_SESSIONS } from "../accounts/model.ts";
import type { Limit } from "../limits.ts";
import { MAX_BINDINGS } from "../policy/model.ts";
import type { System } from "../system.ts";
import { MAX_TOKENS } from "../tokens/model.ts";
import type { Filled, Fullest, RealmLimits, RealmStore, RowLimit } from "./model.ts";

/** Milliseconds for which the result of a scan of all rows is kept. */
const FRESH_MS = 60_000;

const RAISE = "`svc users limits` raises it for the owner";
const HINTS: Record<RowLimit, string> = {
	accounts: "set registration.mode to admin, so that only the instance admin registers accounts",
	realm_bytes: `delete unneeded secrets, or ${RAISE}`,
	realms_per_account: RAISE,
	bindings_per_realm: "remove unneeded bindings, or divide the realm",
	tokens_per_account: "revoke unneeded tokens, and give new ones an expiry",
	sessions_per_account: "sign out, or use an API token instead of a login: at the limit, the oldest session ends",
};

/** Dependencies of the limits of rows. */
export interface RowLimitNeeds {
	store: { realms: Pick<RealmStore, "fullest"> };
	system: Pick<System, "now">;
	/** Counts the refusals of a limit. */
	refusals(name: string): number;
}

/** Makes the limits of accounts, realms and their contents, and finds those nearest to them. Own limits count by the share used. Design: §13 */
export function rowLimits({ store, system, refusals }: RowLimitNeeds, settings: RealmLimits): Limit[] {
	const max = {
		...settings,
		accounts: MAX_ACCOUNTS,
		bindings_per_realm: MAX_BINDINGS,
		tokens_per_account: MAX_TOKENS,
		sessions_per_account: MAX_SESSIONS,
	};
	const ask = () => store.realms.fullest({ max, now: system.now().toISOString() });
	let measured_at = Number.NEGATIVE_INFINITY;
	let fullest: Promise<Fullest> | undefined;
	const measure = (): Promise<Fullest> => {
		const now = performance.now();
		if (fullest === undefined || now - measured_at >= FRESH_MS) {
			measured_at = now;
			fullest = ask();
			fullest.catch(() => {
				fullest = undefined;
			});
		}
		return fullest;
	};
	return (Object.entries(HINTS) as [RowLimit, string][]).map(([name, hint]) => ({
		name,
		max: max[name],
		hint,
		used: async () => Math.round(shareOf((await measure())[name][0]) * max[name]),
		...(name === "sessions_per_account" ? {} : { refused: () => refusals(name) }),
		nearest: async () => (await ask())[name],
	}));
}

function shareOf(filled: Filled | undefined): number {
	return filled === undefined ? 0 : filled.used / Math.max(1, filled.max);
}
