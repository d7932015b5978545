import type { AuditEvent } from "../audit/model.ts";
import { type Port, read, write } from "../operation.ts";

/**
 * A stored configuration of an engine. A new one replaces the `active` one, which stays, `retired`, while leases made with it or with an
 * earlier one are open. `generated` marks data that the server made for a realm.
 */
export interface EngineConfigRow {
	id: string;
	engine: string;
	/** Empty for the configuration that all realms without their own use. */
	realm_id: string;
	state: "active" | "retired" | "generated";
	/** Its fields as JSON, sealed. */
	sealed: Buffer;
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** A live realm that an engine served before the configuration for all realms named its realms. */
interface FormerRealm {
	engine: string;
	realm_id: string;
	slug: string;
}

/** Operations of the store on engines. */
export const engineOperations = {
	/**
	 * Makes it the active one, and retires the one before.
	 * @param allowed for all realms: ids of those that it serves, or `*`
	 * @param keepsFormer for all realms: former realms that it still serves stay so, because they share a part that each other realm has of its own
	 */
	setConfig: write<
		(
			row: EngineConfigRow,
			event: AuditEvent,
			allowed?: readonly string[],
			keepsFormer?: boolean,
		) => "done" | "realm_gone"
	>({ forgets: ["configs"] }),
	/** Retires the active one; false when there is none. @param keepsFormer as above */
	removeConfig: write<
		(input: { engine: string; realm_id: string }, event: AuditEvent, keepsFormer?: boolean) => boolean
	>({ forgets: ["configs"] }),
	/** Keeps generated data, unless some is kept already. */
	keepGenerated: write<(row: EngineConfigRow, event: AuditEvent) => boolean>({ forgets: ["configs"] }),
	/** Reads the active or generated one of exactly this scope. */
	config: read<(engine: string, realm_id: string, state: "active" | "generated") => EngineConfigRow | undefined>({
		in: "configs",
		by: 3,
		absence: true,
	}),
	/** Reads any that is still kept. */
	configById: read<(id: string) => EngineConfigRow | undefined>(),
	/** Lists all that are still kept, active and retired, in the order in which they were set. */
	configs: read<() => EngineConfigRow[]>(),
	/** Tells whether the engine served the realm before a configuration named its realms. */
	isFormer: read<(engine: string, realm_id: string) => boolean>(),
	/** Lists all such realms, by engine and slug. */
	formerRealms: read<() => FormerRealm[]>(),
};

/** The store's part for engines' configurations. */
export type EngineStore = Port<typeof engineOperations>;
