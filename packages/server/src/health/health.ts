import type { Keyring } from "../crypto/keyring.ts";
import { openPortable, sealPortable } from "../crypto/seal.ts";
import type { Store, StoreState } from "../store/store.ts";
import type { System } from "../system.ts";
import type { Build } from "./build.ts";
import { describeEngines, type EngineHealth, type EngineHealthNeeds } from "./engine-health.ts";

/** Dependencies of the health check. */
export interface HealthNeeds {
	store: Pick<Store, "state" | "isWritable" | "keys" | "leases">;
	engines: Omit<EngineHealthNeeds, "store">;
	system: System;
	keyring: Keyring;
	build: Build;
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
	/** Ours: what stores the data, and whether it can be reached. */
	store: StoreState;
	/** Ours: engines, targets and leases. An unreachable target does not make the server unhealthy. Absent when the database cannot answer. */
	details?: EngineHealth;
}

/** Checks that the database can be read and written and that text can be sealed and opened. Never throws. */
export async function checkHealth(needs: HealthNeeds): Promise<Health> {
	const [database, encryption] = await Promise.all([checkDatabase(needs), checkEncryption(needs)]);
	const details = await describeEngines({ ...needs.engines, store: needs.store }).catch(() => undefined);
	const isHealthy = database && encryption && !needs.isStopping();
	const state = (good: boolean): State => (good ? "healthy" : "unhealthy");
	return {
		status: state(isHealthy),
		...needs.build,
		mode: "standalone",
		checks: { database: state(database), encryption: state(encryption) },
		store: needs.store.state(),
		...(details === undefined ? {} : { details }),
	};
}

async function checkDatabase({ store, system, keyring, isSound }: HealthNeeds): Promise<boolean> {
	try {
		if (!isSound()) return false;
		return (await store.keys.fingerprint()) === keyring.fingerprint && (await store.isWritable(system.now()));
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
