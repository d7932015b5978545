import { engineCapabilities } from "@svc/protocol";
import { AppError } from "../errors.ts";
import { EVERY_REALM } from "./config/allowed-realms.ts";
import type { CatalogEntry } from "./host/catalog.ts";
import { PKI } from "./kinds/pki/authority.ts";
import type { EngineConfigRow } from "./model.ts";
import { createReadyEngines, notConfigured, type ReadyEngine, type ReadyNeeds, takesVariables } from "./ready.ts";

/** Finds engines and the configurations that apply. */
export interface Runtime {
	/** @throws AppError not_found */
	entry(type: string): CatalogEntry;
	/**
	 * The engine as a realm meets it; without a realm, with the configuration of all realms, whomever that serves.
	 * @throws AppError not_found, engine_not_configured, engine_unavailable
	 */
	forRealm(type: string, realm_id: string): Promise<ReadyEngine>;
	/** The engine with a kept configuration. @throws AppError when engine or configuration are gone */
	withConfig(type: string, config_id: string): Promise<ReadyEngine>;
	/** The engine with the configuration in this row. */
	withRow(row: EngineConfigRow): Promise<ReadyEngine>;
	/** Engines with every configuration that is kept and usable: those that hold now, then those that held, the newest first. */
	kept(): Promise<ReadyEngine[]>;
	/** Lets go of a configuration that is used no more. */
	retire(config_id: string): void;
	/** Lets go of an engine as realms meet it without a configuration: it has one now, or had one. */
	retireUnconfigured(type: string): void;
	close(): Promise<void>;
}

/** Makes the runtime. */
export function createRuntime(needs: ReadyNeeds): Runtime {
	const { engines } = needs.store;
	const entry = (type: string): CatalogEntry => {
		const found = needs.catalog.get(type);
		if (found === undefined)
			throw new AppError("not_found", "engine type not found: GET /api/v1/engines lists the engines");
		return found;
	};
	const ready = createReadyEngines(needs, entry);

	/** An engine without a configuration: what the server's own variables lead to is for the realms that used it before. */
	async function bare(type: string, realm_id: string): Promise<ReadyEngine> {
		if (realm_id === "" || !takesVariables(type)) return ready.without(entry(type), realm_id, true);
		const isFormer = await engines.isFormer(type, realm_id);
		if (type !== PKI && !isFormer) throw notConfigured(type);
		return ready.without(entry(type), realm_id, isFormer);
	}

	async function serves({ config }: ReadyEngine, type: string, realm_id: string): Promise<boolean> {
		const allowed = config.fields.allowed_realms as readonly string[] | undefined;
		if (allowed === undefined) return engines.isFormer(type, realm_id);
		return allowed[0] === EVERY_REALM || allowed.includes(realm_id);
	}

	return {
		entry,
		async forRealm(type, realm_id) {
			const { is_built_in, network } = entry(type);
			const own = realm_id === "" ? undefined : await engines.config(type, realm_id, "active");
			if (own !== undefined) return ready.withRow(own);
			const common = await engines.config(type, "", "active");
			if (common === undefined) return bare(type, realm_id);
			const engine = await ready.withRow(common, realm_id);
			if (realm_id === "" || (await serves(engine, type, realm_id))) return engine;
			// One of ours that only computes reaches nothing of anybody's.
			if (is_built_in && !network) return ready.without(entry(type), realm_id, false);
			throw notConfigured(type);
		},
		async withConfig(type, config_id) {
			if (config_id === "") return ready.without(entry(type), "", true);
			const row = await engines.configById(config_id);
			if (row === undefined) throw new AppError("engine_unavailable", "the configuration is gone");
			return ready.withRow(row);
		},
		withRow: (row) => ready.withRow(row),
		async kept() {
			const rows = (await engines.configs()).reverse();
			const { active = [], retired = [] } = Object.groupBy(rows, ({ state }) => state);
			const all = [...active, ...retired].map((row) => Promise.try(() => ready.withRow(row)).catch(() => undefined));
			return (await Promise.all(all)).filter((engine) => engine !== undefined);
		},
		retire: ready.drop,
		retireUnconfigured: ready.dropUnconfigured,
		async close() {
			ready.close();
			await needs.host.close();
		},
	};
}

/** Whether the engine makes credentials that live at a target and end. */
export function isDynamic({ descriptor }: CatalogEntry): boolean {
	return engineCapabilities(descriptor).includes("dynamic_credentials");
}
