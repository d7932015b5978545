import { engineCapabilities } from "@svc/protocol";
import type { Lease, LeaseStore, Removal } from "../leases/model.ts";
import { statusOf } from "./configs.ts";
import { listByEngine, removalTrouble, removeOrphan, troubleOf } from "./removal.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";
import type { EngineVault } from "./vault.ts";

interface TargetNeeds {
	store: { leases: Pick<LeaseStore, "due"> };
	runtime: Runtime;
}

/** How a target is. */
export interface TargetStatus {
	outcome: "healthy" | "unreachable" | "denied" | "rejected";
	message: string;
}

/** Makes the function that asks a target whether it works. */
export function createProbe(needs: TargetNeeds): (target: string) => Promise<TargetStatus> {
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
	const lease = (await anyLease(store.leases, target)) ?? undefined;
	return lease && runtime.withConfig(lease.engine, lease.config_id);
}

async function anyLease(leases: TargetNeeds["store"]["leases"], target: string): Promise<Lease | undefined> {
	const [due] = await leases.due(target, Number.MAX_SAFE_INTEGER, 1);
	return due;
}

/** A target whose managed names can be listed. */
export interface SweepTarget {
	target: string;
	scope: string;
	/** Whether nobody else makes managed names there. */
	exclusive: boolean;
	/** @returns undefined when the target is away or cannot list */
	list(): Promise<string[] | undefined>;
	/** Removes a name that no lease knows. */
	remove(name: string): Promise<Removal>;
}

/** Makes the function that finds the targets that can be swept, each once. */
export function createInventory(needs: TargetNeeds & { vault: EngineVault }): () => Promise<SweepTarget[]> {
	return async () => {
		const found = new Map<string, SweepTarget>();
		for (const engine of await needs.runtime.kept()) {
			for (const scope of scopesOf(engine)) {
				const key = `${engine.target} ${scope}`;
				if (found.has(key)) continue;
				const exclusive = engine.config.fields.exclusive === true;
				found.set(key, {
					target: engine.target,
					scope,
					exclusive,
					list: () => listManaged(engine, scope),
					remove: (name) => removeOrphan(needs, engine, { name, scope }),
				});
			}
		}
		return [...found.values()];
	};
}

/** Where an engine's names live. Those of a third party's engine can be compared with the ledger when the core chose them. */
export function scopesOf({ entry, config, connector }: ReadyEngine): string[] {
	const { auth_database, namespace, allowed_namespaces } = config.fields;
	if (entry.type === "documentdb") return [String(auth_database ?? "admin")];
	if (connector !== undefined) return [""];
	if (entry.type !== "containerorch") return engineCapabilities(entry.descriptor).includes("lease_hint") ? [""] : [];
	const listed = Array.isArray(allowed_namespaces) ? allowed_namespaces.map(String) : [];
	return [...new Set([String(namespace ?? "default"), ...listed])];
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
