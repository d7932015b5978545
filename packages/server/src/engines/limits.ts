import type { LeaseStore, OpenCount } from "../leases/model.ts";
import { type Filled, type LeaseLimit, type Limit, onceAMinute, usedOf } from "../limits.ts";
import type { RealmStore } from "../realms/model.ts";
import { MAX_OPEN } from "./config/fields.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";

/** Maximum number of realms and engines that are named. */
const MOST = 20;

/** Dependencies of the limits of open credentials. */
export interface LeaseLimitNeeds {
	store: { leases: Pick<LeaseStore, "openByConfig" | "openByRealm">; realms: Pick<RealmStore, "named"> };
	runtime: Pick<Runtime, "kept">;
	/** Counts the refusals of a limit. */
	refusals(name: string): number;
}

/** Makes the limits of open credentials, of each configuration and of each realm under the configuration of all realms. Design: §13 */
export function leaseLimits({ store, runtime, refusals }: LeaseLimitNeeds): Limit[] {
	async function measure(
		counts: Promise<OpenCount[]>,
		maxOf: (engines: Map<string, ReadyEngine>, one: OpenCount) => number | null | undefined,
	): Promise<Filled[]> {
		const [found, kept] = await Promise.all([counts, runtime.kept()]);
		// Active configurations come first: they override retired ones.
		const engines = new Map(kept.toReversed().map((one) => [keyOf(one.entry.type, one.config.realm_id), one]));
		const slugs = new Map(
			(await store.realms.named([...new Set(found.map(({ realm_id }) => realm_id))])).map(({ id, slug }) => [id, slug]),
		);
		return found.flatMap((one) => {
			const max = maxOf(engines, one);
			const realm = one.realm_id === "" ? "" : ` in realm ${slugs.get(one.realm_id) ?? one.realm_id}`;
			return max == null ? [] : [{ name: `${one.engine}${realm}`, used: one.open, max }];
		});
	}

	const ofConfigs = () =>
		measure(
			store.leases.openByConfig(),
			(engines, { engine, realm_id }) => engines.get(keyOf(engine, realm_id))?.limits.together,
		);
	const ofRealms = () =>
		measure(store.leases.openByRealm(MOST), (engines, { engine }) => engines.get(keyOf(engine, ""))?.limits.each_realm);
	const nearestTo: Record<LeaseLimit, () => Promise<Filled[]>> = {
		max_connections: ofConfigs,
		max_connections_per_realm: ofRealms,
	};
	return (Object.entries(nearestTo) as [LeaseLimit, () => Promise<Filled[]>][]).map(([name, nearest]) => {
		const measured = onceAMinute(nearest);
		return {
			name,
			max: MAX_OPEN,
			used: async () => usedOf(await measured(), MAX_OPEN),
			refused: () => refusals(name),
			nearest,
			hint: `revoke unneeded credentials with \`svc lease revoke\`, or raise ${name} with \`svc engine set\``,
		};
	});
}

const keyOf = (engine: string, realm_id: string) => `${engine} ${realm_id}`;
