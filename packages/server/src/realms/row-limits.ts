import { MAX_ACCOUNTS, MAX_SESSIONS } from "../accounts/model.ts";
import { MAX_FACTORS } from "../factors/model.ts";
import { MAX_INVITATIONS, MAX_INVITATIONS_OF_REALM } from "../invitations/model.ts";
import { type Limit, onceAMinute, type RowLimit, usedOf } from "../limits.ts";
import { MAX_MACHINE_TOKENS, MAX_MACHINES, MAX_TRUSTED_TOKENS } from "../machines/model.ts";
import { MAX_BINDINGS, MAX_MEMBERSHIPS } from "../policy/model.ts";
import { MAX_IDENTITIES } from "../sso/model.ts";
import type { System } from "../system.ts";
import { MAX_TOKENS } from "../tokens/model.ts";
import { MAX_TRUSTS, MAX_USED } from "../trusts/model.ts";
import type { RealmLimits, RealmStore } from "./model.ts";

const RAISE = "`svc users limits` raises it for the owner";
const HINTS: Record<RowLimit, string> = {
	accounts: "set registration.mode to admin, so that only the instance admin registers accounts",
	realm_bytes: `permanently remove unneeded secrets with \`svc secret delete --purge\`, or ${RAISE}`,
	realms_per_account: RAISE,
	bindings_per_realm: "remove unneeded bindings, or divide the realm",
	bindings_per_account: "let the account leave realms in which it needs no role with `svc realm leave`",
	tokens_per_account: "revoke unneeded tokens, and give new ones an expiry",
	machines_per_realm: "delete the machines that no program uses with `svc machine delete`, or divide the realm",
	tokens_per_machine: "revoke unneeded tokens with `svc machine token revoke`, or give new ones a shorter life",
	trusted_tokens_per_machine:
		"give the machine's trusts a shorter life of tokens, or each workflow a machine of its own",
	trusts_per_machine: "remove the trusts that no workflow uses with `svc machine trust remove`",
	used_jwts_per_realm: "let workflows ask for fewer tokens: a realm remembers each JWT that was used until it expires",
	factors_per_account: "remove the authenticator apps and passkeys that are no longer used with `svc factor remove`",
	invitations_per_account: "end the invitations that nobody will use with `svc invitation delete`",
	invitations_per_realm: "end the invitations that nobody will use with `svc invitation delete`",
	identities_per_account: "unlink the identities that are no longer used with `svc account unlink`",
	sessions_per_account: "sign out, or use an API token instead of a login: at the limit, the oldest session ends",
};

/** The limits that no setting changes. */
export const MAX_ROWS: Record<Exclude<RowLimit, keyof RealmLimits>, number> = {
	accounts: MAX_ACCOUNTS,
	bindings_per_realm: MAX_BINDINGS,
	bindings_per_account: MAX_MEMBERSHIPS,
	tokens_per_account: MAX_TOKENS,
	sessions_per_account: MAX_SESSIONS,
	identities_per_account: MAX_IDENTITIES,
	factors_per_account: MAX_FACTORS,
	invitations_per_account: MAX_INVITATIONS,
	invitations_per_realm: MAX_INVITATIONS_OF_REALM,
	machines_per_realm: MAX_MACHINES,
	tokens_per_machine: MAX_MACHINE_TOKENS,
	trusted_tokens_per_machine: MAX_TRUSTED_TOKENS,
	trusts_per_machine: MAX_TRUSTS,
	used_jwts_per_realm: MAX_USED,
};

/** Limits that refuse nothing: the oldest session ends, and a JWT beyond them gets the answer of every refused one. */
const SILENT: readonly RowLimit[] = ["sessions_per_account", "trusted_tokens_per_machine", "used_jwts_per_realm"];

/** Dependencies of the limits of rows. */
export interface RowLimitNeeds {
	store: { realms: Pick<RealmStore, "fullest"> };
	system: Pick<System, "now">;
	/** Counts the refusals of a limit. */
	refusals(name: string): number;
}

/** Makes the limits of accounts, realms, machines and their contents, and finds those nearest to them. Own limits count by the share used. Design: §13 */
export function rowLimits({ store, system, refusals }: RowLimitNeeds, settings: RealmLimits): Limit[] {
	const max = { ...MAX_ROWS, ...settings };
	const ask = () => store.realms.fullest({ max, now: system.now().toISOString() });
	const measure = onceAMinute(ask);
	return (Object.entries(HINTS) as [RowLimit, string][]).map(([name, hint]) => ({
		name,
		max: max[name],
		hint,
		used: async () => usedOf((await measure())[name], max[name]),
		...(SILENT.includes(name) ? {} : { refused: () => refusals(name) }),
		nearest: async () => (await ask())[name],
	}));
}
