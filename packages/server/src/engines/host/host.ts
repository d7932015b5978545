import type { Limit } from "../../limits.ts";
import type { Log } from "../../log.ts";
import { system as realSystem, type System } from "../../system.ts";
import type { Catalog } from "./catalog.ts";
import { faultOfVersion } from "./describe-check.ts";
import { createPayerFailures } from "./failures.ts";
import {
	type CatalogEntry,
	type EngineSettings,
	type EngineState,
	EngineUnavailable,
	TIMING,
	type Timing,
} from "./model.ts";
import { Pool } from "./pool.ts";
import { MAX_WAITING } from "./queue.ts";

/** Runs the engines' processes. */
export interface EngineHost {
	/**
	 * Finds the processes of an engine with these settings; until they are retired, they are the same ones. They start when they are first needed.
	 * @throws EngineUnavailable
	 */
	pool(type: string, settings: EngineSettings): Pick<Pool, "call">;
	/** Retires the processes of a changed configuration: they get no more calls, and end after the current one. */
	retire(key: string): void;
	/** Reports the state of each engine. */
	state(): EngineState[];
	/** The limits on waiting calls and on failures, for display. */
	limits: readonly Limit[];
	/** Ends every process: end of input, after 2 s SIGTERM, after another 2 s SIGKILL. Later calls are refused. */
	close(): Promise<void>;
}

interface HostOptions {
	catalog: Catalog;
	log: Log;
	core_version: string;
	system?: Pick<System, "randomBytes">;
	/** Times that a test shortens. */
	timing?: Partial<Timing>;
}

interface MadePool {
	entry: CatalogEntry;
	key: string;
	pool: Pool;
}

/** Makes a host. Design: §8 */
export function createEngineHost(options: HostOptions): EngineHost {
	const { catalog, log, core_version, system = realSystem } = options;
	const timing = { ...TIMING, ...options.timing };
	const [pools, leaving] = [new Map<string, MadePool>(), new Set<Pool>()];
	const [waiting, payer_failures] = [countRefused(), createPayerFailures(timing.window_ms)];
	const refusals = new Map<string, string>();
	const versionFaults = new Map(
		catalog.list().map(({ type, descriptor }) => [type, faultOfVersion(descriptor.min_core_version, core_version)]),
	);
	let isClosed = false;

	const unavailable = ({ type, unavailable: reason }: CatalogEntry): string | undefined =>
		reason ?? refusals.get(type) ?? versionFaults.get(type);

	function pool(type: string, settings: EngineSettings): Pool {
		const entry = catalog.byType.get(type);
		const reason = entry === undefined ? "there is no such engine" : unavailable(entry);
		if (isClosed) throw new EngineUnavailable("the server is stopping", false);
		if (entry === undefined || reason !== undefined) throw new EngineUnavailable(reason ?? "", false);
		const name = `${type} ${settings.key}`;
		const existing = pools.get(name);
		if (existing !== undefined) return existing.pool;
		const made = new Pool({
			...{
				entry,
				settings,
				cwd: catalog.cwd,
				core_version,
				log,
				system,
				timing,
				payer_failures,
				refuse: waiting.refuse,
			},
			onRefused(refusal) {
				refusals.set(type, refusal);
				log("error", "engine.refused", { engine: type, message: refusal });
				for (const one of pools.values()) if (one.entry.type === type) void one.pool.retire(refusal);
			},
		});
		pools.set(name, { entry, key: settings.key, pool: made });
		return made;
	}

	return {
		pool,
		retire(key) {
			for (const [name, made] of pools) {
				if (made.key !== key) continue;
				pools.delete(name);
				leaving.add(made.pool);
				void made.pool.retire("its configuration changed").then(() => leaving.delete(made.pool));
			}
		},
		state: () => catalog.list().map((entry) => stateOf(entry, unavailable(entry), [...pools.values()])),
		limits: [limitOf(pools, waiting.refused), payer_failures.limit],
		async close() {
			isClosed = true;
			const all = [...[...pools.values()].map(({ pool }) => pool), ...leaving];
			await Promise.all(all.map((pool) => pool.close("the server is stopping")));
		},
	};
}

/** Name of the limit on waiting calls. */
const LIMIT = "engine_calls_waiting_per_realm";

/** Counts the calls that have no room to wait, or wait too long. */
function countRefused(): { refuse: (why: string) => EngineUnavailable; refused: () => number } {
	let refused = 0;
	const refuse = (why: string) => {
		refused++;
		return new EngineUnavailable(`${why} (${LIMIT})`, false);
	};
	return { refuse, refused: () => refused };
}

function limitOf(pools: ReadonlyMap<string, MadePool>, refused: () => number): Limit {
	return {
		name: LIMIT,
		max: MAX_WAITING,
		used: () => Math.max(0, ...[...pools.values()].map(({ pool }) => pool.state.waiting)),
		refused,
		hint: "an engine is slow to answer, or one realm sends it many requests: svc_http_request_duration_seconds shows which route",
	};
}

function stateOf(entry: CatalogEntry, unavailable: string | undefined, pools: readonly MadePool[]): EngineState {
	// An unavailable entry, without pools, may have the type of another one.
	const own = pools.filter((made) => made.entry === entry).map(({ pool }) => pool.state);
	const failures = own.flatMap(({ lastFailure }) => lastFailure ?? []).sort((a, b) => a.at_ms - b.at_ms);
	return {
		type: entry.type,
		processes: own.reduce((sum, { processes }) => sum + processes, 0),
		breaker: own.some(({ isOpen }) => isOpen) ? "open" : "closed",
		refused_realms: new Set(own.flatMap(({ refused }) => refused)).size,
		last_failure: failures.at(-1)?.reason,
		unavailable,
	};
}

export { type EngineSettings, type EngineState, EngineUnavailable };
