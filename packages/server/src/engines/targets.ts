import type { DueLease, LeaseStore } from "../leases/model.ts";
import type { ReaperNeeds } from "../leases/reaper.ts";
import { statusOf } from "./config/config.ts";
import { allowedNames } from "./config/fields.ts";
import { takesNames } from "./params.ts";
import type { ReadyEngine } from "./ready.ts";
import { listByEngine, type RemovalNeeds, removalTrouble, removeOrphan, troubleOf } from "./removal.ts";
import type { Runtime } from "./runtime.ts";

interface TargetNeeds {
	store: { leases: Pick<LeaseStore, "due"> };
	runtime: Runtime;
}

/** Makes the function that asks a target whether it works. */
export function createProbe(needs: TargetNeeds): ReaperNeeds["probe"] {
	return async (target) => {
		try {
			const engine = await engineAt(needs, target);
			if (engine === undefined)
				return { outcome: "unreachable", message: "no configuration leads to this target any more" };
			await engine.connector?.ping();
			if (engine.connector !== undefined) return { outcome: "healthy", message: "" };
			const { status, message } = await statusOf(engine);
			if (status === "unhealthy") throw troubleOf(message);
			return { outcome: "healthy", message };
		} catch (error) {
			const { outcome, message } = removalTrouble(error);
			return { outcome: outcome === "present" ? "rejected" : outcome, message };
		}
	};
}

/** The newest configuration that leads to a target, else the one of a lease there. */
async function engineAt({ store, runtime }: TargetNeeds, target: string): Promise<ReadyEngine | undefined> {
	for (const engine of await runtime.kept()) if (engine.target === target) return engine;
	const lease = await anyLease(store.leases, target);
	return lease && runtime.withConfig(lease.engine, lease.config_id);
}

async function anyLease(leases: TargetNeeds["store"]["leases"], target: string): Promise<DueLease | undefined> {
	const [due] = await leases.due(target, Number.MAX_SAFE_INTEGER, 1);
	return due;
}

/** Makes the function that finds the targets that can be swept, each once. */
export function createInventory(needs: RemovalNeeds) {
	return async () => {
		const found = new Map<string, ReturnType<typeof sweepTarget>>();
		for (const engine of await needs.runtime.kept()) {
			for (const scope of scopesOf(engine)) {
				const key = `${engine.target} ${scope}`;
				if (!found.has(key)) found.set(key, sweepTarget(needs, engine, scope));
			}
		}
		return [...found.values()];
	};
}

/** A target, or one scope of it, as the sweep of the leases takes it. */
function sweepTarget(needs: RemovalNeeds, engine: ReadyEngine, scope: string) {
	return {
		target: engine.target,
		scope,
		exclusive: engine.config.fields.exclusive === true,
		list: () => listManaged(engine, scope),
		remove: (name: string) => removeOrphan(needs, engine, { name, scope }),
	};
}

/** Where an engine's names live. Those of a third party's engine can be compared with the ledger when the core chose them. */
export function scopesOf(engine: ReadyEngine): string[] {
	const { entry, config, connector } = engine;
	const { auth_database, namespace } = config.fields;
	if (entry.type === "documentdb") return [String(auth_database)];
	if (connector !== undefined) return [""];
	if (entry.type !== "containerorch") return takesNames(engine) ? [""] : [];
	return [...new Set([String(namespace), ...allowedNames(config.fields, "allowed_namespaces")])];
}

async function listManaged(engine: ReadyEngine, scope: string): Promise<string[] | undefined> {
	try {
		return engine.connector === undefined
			? await listByEngine(engine, scope)
			: await engine.connector.listManaged(scope);
	} catch (error) {
		removalTrouble(error);
		return undefined;
	}
}
