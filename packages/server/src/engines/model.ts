import type { AuditEvent } from "../audit/model.ts";

/**
 * A configuration of an engine as it is stored. A new one takes the place of an `active` one, which stays, `retired`, for as long as leases
 * are open that were made with it or with one before it. `generated` is what the server made for itself: the certificate authority of pki.
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

/** The store's side of engines. */
export interface EngineStore {
	/**
	 * Makes it the active one, retiring the one before.
	 * @param allowed for all realms: ids of those that it serves, or `*`; those that were served before are forgotten, but for the authority
	 * of those that go on
	 */
	setConfig(row: EngineConfigRow, event: AuditEvent, allowed?: readonly string[]): Promise<"done" | "realm_gone">;
	/** Retires the active one; false when there is none. */
	removeConfig(input: { engine: string; realm_id: string }, event: AuditEvent): Promise<boolean>;
	/** Keeps what the server made, unless something was kept before. */
	keepGenerated(row: EngineConfigRow, event: AuditEvent): Promise<boolean>;
	/** The active or generated one of exactly this scope. */
	config(engine: string, realm_id: string, state: "active" | "generated"): Promise<EngineConfigRow | undefined>;
	/** Any that is still kept. */
	configById(id: string): Promise<EngineConfigRow | undefined>;
	/** All that are still kept, active and retired, in the order in which they were set. */
	configs(): Promise<EngineConfigRow[]>;
	/** Whether the engine served the realm before a configuration named its realms. */
	isFormer(engine: string, realm_id: string): Promise<boolean>;
	/** All of these, by engine and slug. */
	formerRealms(): Promise<FormerRealm[]>;
}
