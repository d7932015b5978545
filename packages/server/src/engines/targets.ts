import type { Check } from "../doctor/model.ts";
import { AppError } from "../errors.ts";
import type { DueLease, LeaseStore } from "../leases/model.ts";
import type { ReaperNeeds } from "../leases/reaper.ts";
import type { RealmStore } from "../realms/model.ts";
import { statusOf } from "./config/config.ts";
import type { Catalog } from "./host/catalog.ts";
import { EngineUnavailable } from "./host/model.ts";
import { type Privilege, TargetError } from "./kinds/connector.ts";
import type { Environment } from "./kinds/kind.ts";
import type { EngineStore } from "./model.ts";
import { type RemovalNeeds, removalError, removeOrphan } from "./revoke.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";

/* Questions to targets besides credentials: do they work (reaper, doctor), which names do they have (sweep), what are our rights (doctor)? */

interface TargetNeeds {
	store: { leases: Pick<LeaseStore, "due"> };
	runtime: Runtime;
}

/** Makes the function that checks whether a target works. */
export function createProbe(needs: TargetNeeds): ReaperNeeds["probe"] {
	return async (target) => {
		try {
			const engine = await engineAt(needs, target);
			if (engine === undefined) return { outcome: "unreachable", message: "no configuration is left for this target" };
			await engine.connector?.ping();
			return { outcome: "healthy", message: "" };
		} catch (error) {
			const { outcome, message } = removalError(error);
			return { outcome: outcome === "present" ? "rejected" : outcome, message };
		}
	};
}

/** Finds the newest configuration that leads to a target, else the one of a lease there. */
async function engineAt({ store, runtime }: TargetNeeds, target: string): Promise<ReadyEngine | undefined> {
	for (const engine of await runtime.kept()) if (engine.target === target) return engine;
	const lease = await anyLease(store.leases, target);
	return lease && runtime.withConfig(lease.engine, lease.config_id);
}

async function anyLease(leases: TargetNeeds["store"]["leases"], target: string): Promise<DueLease | undefined> {
	const [due] = await leases.due(target, Number.MAX_SAFE_INTEGER, 1);
	return due;
}

/** Makes the function that lists the targets that can be swept, each once. */
export function createInventory(needs: RemovalNeeds) {
	return async () => {
		const found = new Map<string, ReturnType<typeof sweepTarget>>();
		for (const engine of await needs.runtime.kept()) {
			for (const scope of engine.connector?.scopes ?? []) {
				const key = `${engine.target} ${scope}`;
				if (!found.has(key)) found.set(key, sweepTarget(needs, engine, scope));
			}
		}
		return [...found.values()];
	};
}

/** Adapts a target, or one scope of it, to the sweep of the leases. */
function sweepTarget(needs: RemovalNeeds, engine: ReadyEngine, scope: string) {
	return {
		target: engine.target,
		scope,
		exclusive: engine.config.fields.exclusive === true,
		list: () => list(engine, scope),
		remove: (name: string) => removeOrphan(needs, engine, { name, scope }),
	};
}

async function list({ connector }: ReadyEngine, scope: string): Promise<string[] | undefined> {
	try {
		return await connector?.list(scope);
	} catch (error) {
		removalError(error);
		return undefined;
	}
}

interface QuestionNeeds {
	store: { engines: Pick<EngineStore, "configs">; realms: Pick<RealmStore, "named"> };
	runtime: Pick<Runtime, "withRow" | "forRealm">;
	catalog: Pick<Catalog, "list">;
	/** Variables for engines with which the server was started. */
	engine_environment: Environment;
}

/**
 * Makes the function that lists every current configuration, each as a question: whether engine and target work, and whether the engine has
 * the rights it needs at its target. No question changes anything.
 * Design: §8
 */
export function createTargetQuestions(needs: QuestionNeeds) {
	const { store, runtime } = needs;
	return async (): Promise<(() => Promise<Check[]>)[]> => {
		const rows = (await store.engines.configs()).filter(({ state }) => state === "active");
		const realms = await store.realms.named([...new Set(rows.map(({ realm_id }) => realm_id))]);
		const slugOf = (id: string) => realms.find((realm) => realm.id === id)?.slug ?? id;
		const common = rows.filter(({ realm_id }) => realm_id === "").map(({ engine }) => engine);
		const bare = typesByVariables(needs).filter((type) => !common.includes(type));
		return [
			...rows.map((row) => {
				const name = row.realm_id === "" ? row.engine : `${row.engine} of realm ${slugOf(row.realm_id)}`;
				return () => question(name, row.engine, () => runtime.withRow(row));
			}),
			...bare.map((type) => () => question(type, type, () => runtime.forRealm(type, ""))),
		];
	};
}

/** Lists engines whose target the server's own variables name. */
function typesByVariables({ catalog, engine_environment }: QuestionNeeds): string[] {
	const names = Object.keys(engine_environment);
	return catalog
		.list()
		.filter(({ kind }) => kind.connect !== undefined && names.some((name) => kind.variables?.test(name)))
		.map(({ type }) => type);
}

async function question(name: string, type: string, open: () => Promise<ReadyEngine>): Promise<Check[]> {
	const failed = (message: string, hint: string): Check => ({ name, status: "failed", message, hint });
	try {
		const engine = await open();
		const { status, message } = await statusOf(engine);
		if (status === "unhealthy") return [failed(message, `\`svc engine show ${type}\` shows its configuration`)];
		return toChecks(name, (await engine.connector?.privileges?.()) ?? []);
	} catch (error) {
		const isKnown = error instanceof TargetError || error instanceof EngineUnavailable || error instanceof AppError;
		if (!isKnown) throw error;
		return [failed(error.message, `\`svc engine ping ${type}\` checks again`)];
	}
}

function toChecks(name: string, privileges: readonly Privilege[]): Check[] {
	const checks = privileges.flatMap(({ name: right, status, message, hint }): Check[] => {
		if (status === "granted") return [];
		return [{ name, status: status === "missing" ? "failed" : "warning", message: `${right}: ${message}`, hint }];
	});
	const granted = privileges.filter(({ status }) => status === "granted").length;
	const all = granted === 0 ? "it works" : `it works, and has all ${granted} privileges that it needs at its target`;
	return checks.length > 0 ? checks : [{ name, status: "ok", message: all, hint: "" }];
}
