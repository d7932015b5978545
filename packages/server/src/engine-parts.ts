import { join } from "node:path";
import type { Config } from "./config.ts";
import type { Keyring } from "./crypto/keyring.ts";
import { createConfigSealer } from "./engines/config/sealed-config.ts";
import { type BuiltInEngine, loadCatalog } from "./engines/host/catalog.ts";
import { createEngineHost, type EngineHost } from "./engines/host/host.ts";
import type { Kind } from "./engines/kinds/kind.ts";
import { createKindOf, KINDS } from "./engines/kinds/registry.ts";
import { removeCredential } from "./engines/revoke.ts";
import { createRuntime } from "./engines/runtime.ts";
import { createInventory, createProbe } from "./engines/targets.ts";
import { openLeaseClock } from "./leases/clock.ts";
import { createDelivery } from "./leases/delivery.ts";
import { openPause } from "./leases/pause.ts";
import { createReaper } from "./leases/reaper.ts";
import { createSweeper } from "./leases/sweep.ts";
import type { Log } from "./log.ts";
import type { Store } from "./store/store.ts";
import type { System } from "./system.ts";

/** Parts that engines and leases are assembled from. */
export interface EnginePartsInput {
	config: Config;
	store: Store;
	keyring: Keyring;
	system: System;
	log: Log;
	built_in: readonly BuiltInEngine[];
	version: string;
	around: Around;
}

/** Wrappers that a test puts around the parts that a credential passes through, to stop or break them between any two steps. */
export interface Around {
	store?(store: Store): Store;
	host?(host: EngineHost): EngineHost;
	kinds?(kinds: typeof KINDS): typeof KINDS;
	/** Milliseconds between two sweeps, instead of ten minutes. */
	sweep_ms?: number;
}

export type EngineParts = Awaited<ReturnType<typeof createEngineParts>>;

/** Lists a kind without a program in the catalogue by its own descriptor. */
function withoutProgram({ descriptor }: Kind): BuiltInEngine[] {
	return descriptor === undefined
		? []
		: [{ descriptor, network: true, node: false, launch: { file: "", arguments: [] } }];
}

/** Assembles engines and leases. Leases do not know engines: they receive functions that reach them. */
export async function createEngineParts(input: EnginePartsInput) {
	const { config, store, keyring, system, log, built_in, version, around } = input;
	const all = around.kinds?.(KINDS) ?? KINDS;
	const catalog = loadCatalog({
		built_in: [...built_in, ...Object.values(all).flatMap(withoutProgram)],
		kindOf: createKindOf(all),
		plugins_dir: config.plugins_dir,
		runtime_dir: join(config.data_dir, "run"),
		log,
	});
	const bareHost = createEngineHost({ catalog, log, core_version: version });
	const host = around.host?.(bareHost) ?? bareHost;
	const sealer = createConfigSealer({ keyring, system });
	const { engine_environment } = config;
	const runtime = createRuntime({ store, system, sealer, catalog, host, engine_environment });
	const clock = await openLeaseClock({ store, system, log });
	const pause = await openPause({ store, log });
	const lagListeners: ((lag_ms: number) => void)[] = [];
	const reaper = createReaper({
		store,
		system,
		log,
		clock,
		pause,
		remove: (lease) => removeCredential({ runtime, sealer }, lease),
		probe: createProbe({ store, runtime }),
		onRevoked: (lag_ms) => {
			for (const listener of lagListeners) listener(lag_ms);
		},
	});
	const targets = createInventory({ runtime, sealer });
	const sweeper = createSweeper({ store, system, log, clock, reaper, targets, pause }, around.sweep_ms);
	const delivery = createDelivery({ store, system, log, clock, reaper });
	return {
		catalog,
		host,
		runtime,
		sealer,
		clock,
		pause,
		reaper,
		sweeper,
		delivery,
		/** Reports to the listener how late each credential was revoked, in milliseconds. */
		watchLag(listener: (lag_ms: number) => void): void {
			lagListeners.push(listener);
		},
		/** Starts revoking credentials that are due. */
		start(): void {
			reaper.start();
			sweeper.start();
		},
		/** Ends work in progress and the engines' processes. */
		async stop(): Promise<void> {
			await Promise.all([reaper.stop(), sweeper.stop()]);
			await runtime.close();
			catalog.close();
		},
	};
}
