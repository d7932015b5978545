import type { AuditEvent } from "../audit/model.ts";
import { type Port, read, write } from "../operation.ts";

/**
 * A configuration of an engine as it is stored. A new one takes the place of an `active` one, which stays, `retired`, for as long as leases
 * are open that were made with it or with one before it. `generated` is what the server made for a realm, such as a
 * certificate authority.
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

/** A live realm that an engine served before a configuration for all realms named its realms. */
interface FormerRealm {
	engine: string;
	realm_id: string;
	slug: string;
}

/** Operations of the store on engines. */
export const engineOperations = {
	/**
	 * Makes it the active one, retiring the one before.
	 * @param allowed for all realms: ids of those that it serves, or `*`; those that were served before are forgotten, but for the authority
	 * of those that go on
	 */
	setConfig: write<(row: EngineConfigRow, event: AuditEvent, allowed?: readonly string[]) => "done" | "realm_gone">({
		forgets: ["configs"],
	}),
	/** Retires the active one; false when there is none. */
	removeConfig: write<(input: { engine: string; realm_id: string }, event: AuditEvent) => boolean>({
		forgets: ["configs"],
	}),
	/** Keeps what the server made, unless something was kept before. */
	keepGenerated: write<(row: EngineConfigRow, event: AuditEvent) => boolean>({ forgets: ["configs"] }),
	/** The active or generated one of exactly this scope. */
	config: read<(engine: string, realm_id: string, state: "active" | "generated") => EngineConfigRow | undefined>({
		in: "configs",
		key: (engine, realm_id, state) => `${engine} ${realm_id} ${state}`,
		absence: true,
	}),
	/** Any that is still kept. */
	configById: read<(id: string) => EngineConfigRow | undefined>(),
	/** All that are still kept, active and retired, in the order in which they were set. */
	configs: read<() => EngineConfigRow[]>(),
	/** Whether the engine served the realm before a configuration named its realms. */
	isFormer: read<(engine: string, realm_id: string) => boolean>(),
	/** All of these, by engine and slug. */
	formerRealms: read<() => FormerRealm[]>(),
};

/** The store's part for engines' configurations. */
export type EngineStore = Port<typeof engineOperations>;
