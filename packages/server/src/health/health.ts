import type { Keyring } from "../crypto/keyring.ts";
import { openPortable, sealPortable } from "../crypto/seal.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";
import type { Build } from "./build.ts";
import { describeEngines, type EngineHealth, type EngineHealthNeeds } from "./engine-health.ts";
import { type StoreState, type Trouble, troubleOf } from "./model.ts";

/** Dependencies of the health check. */
export interface HealthNeeds {
	store: Pick<Store, "state" | "isWritable" | "keys" | "leases">;
	engines: Omit<EngineHealthNeeds, "store">;
	system: System;
	keyring: Keyring;
	build: Build;
	/** Tells whether nothing in the database is believed, so that every request is refused. */
	isAltered(): boolean;
	/** Tells whether no alteration of the database was found. */
	isSound(): boolean;
	/** Tells whether the server is stopping. */
	isStopping(): boolean;
}

type State = "healthy" | "unhealthy";

/** Spec: API › Health and metrics. */
export interface Health extends Build {
	status: State;
	mode: "standalone";
	checks: { database: State; encryption: State };
	/** Ours: what stores the data, and whether it works. */
	store: StoreState & Partial<Trouble>;
	/** Ours: engines, targets and leases. An unreachable target does not make the server unhealthy. Absent when the database cannot answer, or only readiness is asked for. */
	details?: EngineHealth;
}

/** Checks that the database can be read and written and that text can be sealed and opened. Never throws. */
export async function checkHealth(needs: HealthNeeds): Promise<Health> {
	const checks = await Promise.all([checkDatabase(needs), checkEncryption(needs)]);
	const details = await describeEngines({ ...needs.engines, store: needs.store }).catch(() => undefined);
	return { ...describe(needs, ...checks), ...(details === undefined ? {} : { details }) };
}

/**
 * Checks that this server takes requests, as a load balancer asks: it does not stop, believes the database and can read it. What all servers of a database
 * share, such as a full disk, takes none of them away. Never throws.
 */
export async function checkReadiness(needs: HealthNeeds): Promise<Health> {
	const answers = !needs.isAltered() && (await canRead(needs).catch(() => false));
	return describe(needs, answers, await checkEncryption(needs));
}

function describe(needs: HealthNeeds, database: boolean, encryption: boolean): Health {
	const state = (good: boolean): State => (good ? "healthy" : "unhealthy");
	const store = needs.store.state();
	return {
		status: state(database && encryption && !needs.isStopping()),
		...needs.build,
		mode: "standalone",
		checks: { database: state(database), encryption: state(encryption) },
		store: { ...store, ...troubleOf(store) },
	};
}

async function canRead({ store, keyring }: HealthNeeds): Promise<boolean> {
	return (await store.keys.fingerprint()) === keyring.fingerprint;
}

async function checkDatabase(needs: HealthNeeds): Promise<boolean> {
	try {
		return needs.isSound() && (await canRead(needs)) && (await needs.store.isWritable(needs.system.now()));
	} catch {
		return false;
	}
}

async function checkEncryption({ keyring, system }: HealthNeeds): Promise<boolean> {
	try {
		const sealed = sealPortable(keyring.portable(), "canary", system.randomBytes);
		return openPortable(sealed, (id) => keyring.portableById(id)) === "canary";
	} catch {
		return false;
	}
}
