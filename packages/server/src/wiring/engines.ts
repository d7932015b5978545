import { join } from "node:path";
import type { Config } from "../config.ts";
import type { Keyring } from "../crypto/keyring.ts";
import { createConfigSealer } from "../engines/config/sealed-config.ts";
import { loadCatalog } from "../engines/host/catalog.ts";
import { createEngineHost } from "../engines/host/host.ts";
import type { BuiltInEngine } from "../engines/host/model.ts";
import type { Kind } from "../engines/kinds/kind.ts";
import * as KINDS from "../engines/kinds/registry.ts";
import { thirdParty } from "../engines/kinds/third-party/kind.ts";
import { createDelivery } from "../engines/ledger.ts";
import { removeCredential } from "../engines/revoke.ts";
import { createRuntime } from "../engines/runtime.ts";
import { createInventory, createProbe } from "../engines/targets.ts";
import { resumeLeaseClock } from "../leases/clock.ts";
import { openPause } from "../leases/pause.ts";
import { createReaper } from "../leases/reaper.ts";
import { createSweeper } from "../leases/sweep.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";

/** Dependencies of engines and leases. */
export interface EngineNeeds {
	config: Config;
	store: Store;
	keyring: Keyring;
	system: System;
	log: Log;
	built_in: readonly BuiltInEngine[];
	version: string;
	components: Partial<EngineComponents>;
}

/** Components that engines and leases are made of; each has a default. */
export interface EngineComponents {
	/** The kinds of engines that come with the server, by type. */
	kinds: Readonly<Record<string, Kind>>;
	createHost: typeof createEngineHost;
	/** Milliseconds between two sweeps. */
	sweep_ms: number;
}

/** Engines and leases of the running server. */
export type Engines = Awaited<ReturnType<typeof wireEngines>>;

/** Lists a kind without a program in the catalogue by its own descriptor. */
function withoutProgram({ descriptor }: Kind): BuiltInEngine[] {
	return descriptor === undefined
		? []
		: [{ descriptor, network: true, node: false, launch: { file: "", arguments: [] } }];
}

/** Assembles engines and leases. Leases do not know engines: they receive functions that reach them. */
export async function wireEngines(needs: EngineNeeds) {
	const { config, store, keyring, system, log, built_in, version, components } = needs;
	const { kinds = KINDS as EngineComponents["kinds"], createHost = createEngineHost, sweep_ms } = components;
	const catalog = loadCatalog({
		built_in: [...built_in, ...Object.values(kinds).flatMap(withoutProgram)],
		kindOf: (type, is_built_in) => (is_built_in && Object.hasOwn(kinds, type) && kinds[type]) || thirdParty,
		plugins_dir: config.plugins_dir,
		runtime_dir: join(config.data_dir, "run"),
		log,
	});
	const host = createHost({ catalog, log, core_version: version });
	const sealer = createConfigSealer({ keyring, system });
	const { engine_environment } = config;
	const runtime = createRuntime({ store, system, sealer, catalog, host, engine_environment });
	const clock = await resumeLeaseClock({ store, system, log });
	const clockSaved = clock.tick();
	// The server gets the error when it waits for it.
	clockSaved.catch(() => undefined);
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
	const sweeper = createSweeper({ store, system, log, clock, reaper, targets, pause }, sweep_ms);
	const delivery = createDelivery({ store, system, log, clock, reaper });
	return {
		catalog,
		host,
		runtime,
		sealer,
		clock,
		/** Resolves once the clock is durable. Wait for it before any lease begins. */
		clockSaved,
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
