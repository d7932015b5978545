import type { Fields } from "@svc/protocol";
import { LRUCache } from "lru-cache";
import { AppError } from "../errors.ts";
import { EVERY_REALM } from "./config/allowed-realms.ts";
import {
	type Configuration,
	checkFields,
	environmentOf,
	type Lives,
	limitsOf,
	livesOf,
	type OpenLimits,
	secretsOf,
	targetOf,
} from "./config/fields.ts";
import type { Catalog } from "./host/catalog.ts";
import { type EngineHost, type EngineSettings, EngineUnavailable } from "./host/host.ts";
import type { CatalogEntry } from "./host/model.ts";
import { type Ask, type Call, type Connector, TargetError } from "./kinds/connector.ts";
import type { Environment, Kind, RealmPartNeeds } from "./kinds/kind.ts";
import type { EngineConfigRow } from "./model.ts";

/** Dependencies of the runtime. */
export interface RuntimeNeeds extends RealmPartNeeds {
	catalog: Catalog;
	host: EngineHost;
	/** Variables for engines with which the server was started. */
	engine_environment: Environment;
}

/** An engine with the configuration that applies, ready for calls. */
export interface ReadyEngine {
	entry: CatalogEntry;
	config: Configuration;
	lives: Lives;
	limits: OpenLimits;
	/** Name of the system that it leads to. */
	target: string;
	/** Connector for its credentials; undefined for an engine that makes none. */
	connector: Connector | undefined;
	/** Confines params to the configuration, and completes them. @throws AppError validation_failed. Design: §8 */
	confine(params: Fields): { params: Fields; scope: string };
	call: Call;
	ask: Ask;
}

/** Finds engines and the configurations that apply. */
export interface Runtime {
	/** @throws AppError not_found */
	entry(type: string): CatalogEntry;
	/**
	 * Finds the engine for a realm; without a realm, the engine with the configuration of all realms, whichever realms that serves.
	 * @throws AppError not_found, engine_not_configured, engine_unavailable
	 */
	forRealm(type: string, realm_id: string): Promise<ReadyEngine>;
	/** Finds the engine with a kept configuration. @throws AppError when engine or configuration are gone */
	withConfig(type: string, config_id: string): Promise<ReadyEngine>;
	/** Finds the engine with the configuration in this row. */
	withRow(row: EngineConfigRow): Promise<ReadyEngine>;
	/** Lists engines with every kept and usable configuration: the active ones, then the retired ones, the newest first. */
	kept(): Promise<ReadyEngine[]>;
	/** Releases a configuration that is no longer used. */
	retire(config_id: string): void;
	/** Releases an engine without a configuration, because one was set or removed. */
	retireUnconfigured(type: string): void;
	close(): Promise<void>;
}

/** Makes the runtime. */
export function createRuntime(needs: RuntimeNeeds): Runtime {
	const { host } = needs;
	const { engines } = needs.store;
	const ready = createReadyEngines(needs);
	const { entry, withRow, without } = createWays(needs, ready);

	/** Finds an engine without a configuration: only realms that used it before get the target of the server's own variables. */
	async function bare(type: string, realm_id: string): Promise<ReadyEngine> {
		const { variables, realmPart } = entry(type).kind;
		if (realm_id === "" || variables === undefined) return without(type, realm_id, true);
		const isFormer = await engines.isFormer(type, realm_id);
		if (realmPart === undefined && !isFormer) throw notConfigured(type);
		return without(type, realm_id, isFormer);
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
			if (own !== undefined) return withRow(own);
			const common = await engines.config(type, "", "active");
			if (common === undefined) return bare(type, realm_id);
			const engine = await withRow(common, realm_id);
			if (realm_id === "" || (await serves(engine, type, realm_id))) return engine;
			// An engine of ours that only computes has access to nothing.
			if (is_built_in && !network) return without(type, realm_id, false);
			throw notConfigured(type);
		},
		async withConfig(type, config_id) {
			if (config_id === "") return without(type, "", true);
			const row = await engines.configById(config_id);
			if (row === undefined) throw new AppError("engine_unavailable", "the configuration was removed");
			return withRow(row);
		},
		withRow: (row) => withRow(row),
		async kept() {
			const rows = (await engines.configs()).reverse();
			const { active = [], retired = [] } = Object.groupBy(rows, ({ state }) => state);
			const all = [...active, ...retired].map((row) => Promise.try(() => withRow(row)).catch(() => undefined));
			return (await Promise.all(all)).filter((engine) => engine !== undefined);
		},
		retire(config_id) {
			ready.drop(config_id);
			host.retire(config_id);
		},
		retireUnconfigured(type) {
			ready.dropUnconfigured(entry(type));
			for (const key of [type, outside(type)]) host.retire(key);
		},
		async close() {
			ready.clear();
			await host.close();
		},
	};
}

/** Makes the functions that find an engine with and without a configuration. */
function createWays({ catalog, sealer, engine_environment }: RuntimeNeeds, ready: ReadyEngines) {
	function entry(type: string): CatalogEntry {
		const found = catalog.byType.get(type);
		if (found !== undefined) return found;
		throw new AppError("not_found", "engine type not found: GET /api/v1/engines lists the engines");
	}

	return {
		entry,
		/** @param realm_id the row's own realm, or a realm that the configuration of all realms serves */
		withRow: (row: EngineConfigRow, realm_id = row.realm_id): Promise<ReadyEngine> =>
			ready.find({ entry: entry(row.engine), key: row.id, realm_id, is_served: true }, async () => ({
				id: row.id,
				realm_id: row.realm_id,
				fields: await sealer.open(row),
			})),
		/** @param is_served whether the realm may use the target of the server's own variables */
		without(type: string, realm_id: string, is_served: boolean): Promise<ReadyEngine> {
			const found = entry(type);
			const key = is_served && found.kind.realmPart?.isGiven(engine_environment) ? outside(type) : type;
			return ready.find({ entry: found, key, realm_id, is_served }, async () => unconfigured(found));
		},
	};
}

/** Names the processes whose realm part comes from the server's variables rather than from each realm. */
const outside = (type: string) => `${type} outside`;

/** Makes the default configuration of an engine that needs none. */
function unconfigured({ type, descriptor, kind }: CatalogEntry): Configuration {
	if (descriptor.config_schema.required.length === 0)
		return { id: "", realm_id: "", fields: checkFields(kind, descriptor, {}, undefined) };
	throw notConfigured(type);
}

/** Makes the answer for a realm without the configuration that an engine needs. */
function notConfigured(type: string): AppError {
	return new AppError(
		"engine_not_configured",
		`engine ${type} is not configured here: the instance admin can set it up with \`svc engine set ${type}\``,
	);
}

/** Use of an engine: by which realm, with which processes, and whether with the server's own variables. */
interface Meeting {
	entry: CatalogEntry;
	/** Name of the processes. */
	key: string;
	realm_id: string;
	is_served: boolean;
}

/** Engines kept ready, and milliseconds after which an unused connection is closed. */
const MAX_READY = 1024;
const IDLE_MS = 10 * 60 * 1000;

type ReadyEngines = ReturnType<typeof createReadyEngines>;

/** Makes the cache of ready engines. An engine made from a row stays valid, because rows never change. */
function createReadyEngines(needs: RuntimeNeeds) {
	const keep = () =>
		new LRUCache<string, Promise<ReadyEngine>>({
			max: MAX_READY,
			ttl: IDLE_MS,
			ttlAutopurge: true,
			updateAgeOnGet: true,
			dispose: (engine) => void engine.then(({ connector }) => connector?.close?.()).catch(() => undefined),
		});
	// Engines with a part of each realm's own have a separate cache: however many realms there are, they evict no connection.
	const [known, ofRealms] = [keep(), keep()];

	return {
		find(meeting: Meeting, configure: () => Promise<Configuration>): Promise<ReadyEngine> {
			const isOfRealm = meeting.entry.kind.realmPart !== undefined;
			const engines = isOfRealm ? ofRealms : known;
			const name = isOfRealm ? `${meeting.key} ${meeting.realm_id}` : meeting.key;
			const existing = engines.get(name);
			if (existing !== undefined) return existing;
			const made = configure().then((config) => assemble(needs, meeting, config));
			engines.set(name, made);
			made.catch(() => engines.delete(name));
			return made;
		},
		drop: (config_id: string) => known.delete(config_id),
		dropUnconfigured(entry: CatalogEntry) {
			known.delete(entry.type);
			if (entry.kind.realmPart !== undefined) ofRealms.clear();
		},
		clear() {
			known.clear();
			ofRealms.clear();
		},
	};
}

async function assemble(needs: RuntimeNeeds, meeting: Meeting, config: Configuration): Promise<ReadyEngine> {
	const { system, engine_environment } = needs;
	const { entry, realm_id } = meeting;
	const { type, descriptor, kind, unavailable: reason } = entry;
	if (reason !== undefined) throw new AppError("engine_unavailable", `engine ${type} cannot be used: ${reason}`);
	const fields = kind.complete?.(config.fields, engine_environment) ?? config.fields;
	const settings = settingsOf(kind, engine_environment, meeting, fields);
	const isWithout = kind.realmPart !== undefined && !kind.realmPart.isGiven(settings.environment);
	const own = isWithout && realm_id !== "" ? await kind.realmPart?.paramsOf(needs, realm_id, fields) : undefined;
	const { call, ask } = createCalls(needs, entry, settings, own);
	return {
		entry,
		config: { ...config, fields },
		lives: livesOf(fields),
		limits: limitsOf({ ...config, fields }),
		target: targetOf(kind, descriptor, fields, settings.environment),
		connector: await kind.connect?.({ fields, descriptor, system, call, ask }),
		confine: (params) => kind.confine?.(fields, params) ?? { params, scope: "" },
		call,
		ask,
	};
}

/** Makes the functions that call an engine's process. @param own params of the realm's own, for each request */
function createCalls(
	{ host, catalog }: RuntimeNeeds,
	{ type, kind }: CatalogEntry,
	settings: EngineSettings,
	own: Fields | undefined,
): { call: Call; ask: Ask } {
	const misplaced = catalog
		.list()
		.flatMap((other) => (other.kind.command === kind.command ? [] : (other.kind.command ?? [])));
	let pool: ReturnType<EngineHost["pool"]> | undefined;
	const call: Call = async (method, params, of, payer) => {
		if (kind.descriptor !== undefined) throw new EngineUnavailable("it has no program", false);
		pool ??= host.pool(type, settings);
		const whole = own === undefined ? params : { ...params, ...own };
		const answer = await pool.call(method, whole, of, payer);
		return "data" in answer && misplaced.some((name) => Object.hasOwn(answer.data, name)) ? MISPLACED : answer;
	};
	return {
		call,
		async ask(method, params, { realm_id, payer }) {
			const answer = await call(method, params, realm_id, payer);
			if ("data" in answer) return answer.data;
			throw new TargetError("rejected", answer.error);
		},
	};
}

/** Replaces a command from an engine whose kind has no such command: the core runs it nowhere. Design: §13 */
const MISPLACED = { error: "the engine returned a command, but has no target to run it on" };

function settingsOf(
	kind: Kind,
	engine_environment: Environment,
	{ entry, key, is_served }: Meeting,
	fields: Fields,
): EngineSettings {
	const server = Object.fromEntries(
		Object.entries(engine_environment).filter(([name]) => kind.variables?.test(name) === true),
	);
	const configured = environmentOf(entry.descriptor, fields);
	const environment = kind.environment?.(server, configured, is_served) ?? { ...server, ...configured };
	return {
		key,
		environment,
		reads: kind.reads?.(environment) ?? [],
		secrets: secretsOf(entry.descriptor, fields),
	};
}
