import { dirname } from "node:path";
import { type EngineResponse, engineCapabilities, type Fields, type Method } from "@svc/protocol";
import { LRUCache } from "lru-cache";
import { AppError } from "../errors.ts";
import type { System } from "../system.ts";
import { withAuthority } from "./authority.ts";
import { type Configuration, checkFields, environmentOf, secretsOf, targetOf } from "./configuration.ts";
import type { Connector } from "./connectors/connector.ts";
import type { Catalog, CatalogEntry } from "./host/catalog.ts";
import type { EngineHost, EngineSettings } from "./host/host.ts";
import type { EngineConfigRow, EngineStore } from "./model.ts";
import { withNamespace } from "./namespace.ts";
import type { EngineVault } from "./vault.ts";

/** Makes the connection to a system that the core itself drives; undefined for engines that do their work themselves. */
export type Connect = (type: string, fields: Fields) => Promise<Connector | undefined>;

/** What reaching an engine needs. */
export interface RuntimeNeeds {
	store: { engines: EngineStore };
	system: System;
	vault: EngineVault;
	catalog: Catalog;
	host: EngineHost;
	connect: Connect;
	/** Variables for engines that the server was started with. */
	engine_environment: Readonly<Record<string, string>>;
}

/** An engine with the configuration that applies, ready to be asked. */
export interface ReadyEngine {
	entry: CatalogEntry;
	config: Configuration;
	target: string;
	/** The core's own connection to the target. */
	connector: Connector | undefined;
	/** Secrets of the configuration are masked in the engine's error. @throws EngineUnavailable */
	call(method: Method, params: Fields): Promise<EngineResponse>;
}

/** Finds engines and the configurations that apply. */
export interface Runtime {
	/** @throws AppError not_found */
	entry(type: string): CatalogEntry;
	/** The engine as a realm meets it. @throws AppError not_found, engine_unavailable (not configured, or not usable) */
	forRealm(type: string, realm_id: string): Promise<ReadyEngine>;
	/** The engine with a kept configuration. @throws AppError when engine or configuration are gone */
	withConfig(type: string, config_id: string): Promise<ReadyEngine>;
	/** The engine with the configuration in this row. */
	withRow(row: EngineConfigRow): Promise<ReadyEngine>;
	/** Engines with every configuration that is kept and usable: those that hold now, then those that held, the newest first. */
	kept(): Promise<ReadyEngine[]>;
	/** Lets go of a configuration that is used no more. */
	retire(config_id: string): void;
	/** Lets go of an engine without a configuration: it has one now. */
	retireUnconfigured(type: string): void;
	close(): Promise<void>;
}

/** Engines that are kept ready, by configuration; a connection that was not used for long is closed. */
const MAX_READY = 1024;
const IDLE_MS = 10 * 60 * 1000;

/** Makes the runtime. */
export function createRuntime(needs: RuntimeNeeds): Runtime {
	// A row never changes, so neither does what is made of it.
	const known = new LRUCache<string, Promise<ReadyEngine>>({
		max: MAX_READY,
		ttl: IDLE_MS,
		ttlAutopurge: true,
		updateAgeOnGet: true,
		dispose: (engine) => void engine.then(({ connector }) => connector?.close()).catch(() => undefined),
	});

	const entry = (type: string): CatalogEntry => {
		const found = needs.catalog.get(type);
		if (found === undefined)
			throw new AppError("not_found", "engine type not found: GET /api/v1/engines lists the engines");
		return found;
	};

	function ready(key: string, found: CatalogEntry, configure: () => Promise<Configuration>): Promise<ReadyEngine> {
		const existing = known.get(key);
		if (existing !== undefined) return existing;
		const made = configure().then((config) => assemble(needs, key, found, config));
		known.set(key, made);
		made.catch(() => known.delete(key));
		return made;
	}

	const withRow = (row: EngineConfigRow) =>
		ready(row.id, entry(row.engine), async () => ({
			id: row.id,
			realm_id: row.realm_id,
			fields: await needs.vault.open(row),
		}));
	const without = (type: string) => ready(type, entry(type), async () => unconfigured(entry(type)));

	const retire = (key: string) => {
		known.delete(key);
		needs.host.retire(key);
	};

	return {
		entry,
		async forRealm(type, realm_id) {
			entry(type);
			const own = realm_id === "" ? undefined : await needs.store.engines.config(type, realm_id, "active");
			const row = own ?? (await needs.store.engines.config(type, "", "active"));
			return row === undefined ? without(type) : withRow(row);
		},
		async withConfig(type, config_id) {
			if (config_id === "") return without(type);
			const row = await needs.store.engines.configById(config_id);
			if (row === undefined) throw new AppError("engine_unavailable", "the configuration is gone");
			return withRow(row);
		},
		withRow,
		async kept() {
			const rows = (await needs.store.engines.configs()).reverse();
			const { active = [], retired = [] } = Object.groupBy(rows, ({ state }) => state);
			const engines = [...active, ...retired].map((row) => Promise.try(withRow, row).catch(() => undefined));
			return (await Promise.all(engines)).filter((engine) => engine !== undefined);
		},
		retire,
		retireUnconfigured: retire,
		async close() {
			known.clear();
			await needs.host.close();
		},
	};
}

async function assemble(
	needs: RuntimeNeeds,
	key: string,
	entry: CatalogEntry,
	config: Configuration,
): Promise<ReadyEngine> {
	const { type, descriptor, is_shipped, unavailable: reason } = entry;
	if (reason !== undefined) throw new AppError("engine_unavailable", `engine ${type} cannot be used: ${reason}`);
	const placed = type === "containerorch" ? withNamespace(config.fields, needs.engine_environment) : config.fields;
	const fields = await withAuthority(needs, type, placed);
	const settings = settingsOf(needs, entry, key, fields);
	return {
		entry,
		config: { ...config, fields: placed },
		target: targetOf(descriptor, fields, settings.environment),
		connector: is_shipped ? await needs.connect(type, fields) : undefined,
		call: (method, params) => needs.host.call(type, settings, method, params),
	};
}

/** An engine that needs no configuration works without one. */
function unconfigured({ type, descriptor }: CatalogEntry): Configuration {
	if (descriptor.config_schema.required.length === 0)
		return { id: "", realm_id: "", fields: checkFields(descriptor, {}, undefined) };
	throw new AppError(
		"engine_unavailable",
		`engine ${type} is not configured: the instance admin does it with \`svc engine set ${type}\``,
	);
}

function settingsOf(
	needs: RuntimeNeeds,
	{ type, descriptor }: CatalogEntry,
	key: string,
	fields: Fields,
): EngineSettings {
	const environment = { ...outsideFor(needs, type), ...environmentOf(descriptor, fields) };
	const { SVC_ORCH_KUBECONFIG: kubeconfig } = environment;
	return {
		key,
		environment,
		// What it names is beside it.
		reads: kubeconfig ? [dirname(kubeconfig)] : [],
		secrets: secretsOf(descriptor, fields),
	};
}

/** Which of the server's own variables an engine's process gets. Spec: ENGINES › Container orchestrator engine configuration, Certificate authority engine */
const OUTSIDE: Record<string, RegExp> = { containerorch: /^(SVC_ORCH_|KUBERNETES_SERVICE_)/, pki: /^SVC_PKI_/ };

function outsideFor(needs: RuntimeNeeds, type: string): Record<string, string> {
	const wanted = Object.hasOwn(OUTSIDE, type) ? OUTSIDE[type] : undefined;
	return Object.fromEntries(Object.entries(needs.engine_environment).filter(([name]) => wanted?.test(name)));
}

/** Whether the engine makes credentials that live at a target and end. */
export function isDynamic({ descriptor }: CatalogEntry): boolean {
	return engineCapabilities(descriptor).includes("dynamic_credentials");
}
