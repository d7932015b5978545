import { dirname } from "node:path";
import type { EngineResponse, Fields, Method } from "@svc/protocol";
import { LRUCache } from "lru-cache";
import { AppError } from "../errors.ts";
import { type Configuration, checkFields, environmentOf, secretsOf, targetOf } from "./config/fields.ts";
import type { Catalog, CatalogEntry } from "./host/catalog.ts";
import type { EngineHost, EngineSettings } from "./host/host.ts";
import type { Connector } from "./kinds/connector.ts";
import { withNamespace } from "./kinds/containerorch/namespace.ts";
import { AUTHORITY_VARIABLES, type AuthorityNeeds, authorityOf, hasAuthority, PKI } from "./kinds/pki/authority.ts";
import type { EngineConfigRow } from "./model.ts";

/** Makes the connection to a system that the core itself drives; undefined for engines that do their work themselves. */
export type Connect = (type: string, fields: Fields) => Promise<Connector | undefined>;

/** What reaching an engine needs. */
export interface ReadyNeeds extends AuthorityNeeds {
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
	/**
	 * Asks the engine's process. Secrets of the configuration are masked in its error.
	 * @param realm_id whose member asks; the core's own questions have none
	 * @throws EngineUnavailable
	 */
	call(method: Method, params: Fields, realm_id?: string): Promise<EngineResponse>;
}

/** Engines that are kept ready; a connection that was not used for long is closed. */
const MAX_READY = 1024;
const IDLE_MS = 10 * 60 * 1000;

/** Engines with their configurations, ready to be asked. */
export interface ReadyEngines {
	/** The engine with the configuration in this row, for one realm. */
	withRow(row: EngineConfigRow, realm_id?: string): Promise<ReadyEngine>;
	/**
	 * The engine without a configuration.
	 * @param is_outside whether the server's own variables lead somewhere
	 * @throws AppError engine_not_configured when it needs one
	 */
	without(entry: CatalogEntry, realm_id: string, is_outside: boolean): Promise<ReadyEngine>;
	/** Lets go of what was made with a configuration. */
	drop(config_id: string): void;
	/** Lets go of what was made without one, and of the authorities of realms. */
	dropUnconfigured(type: string): void;
	close(): void;
}

/** Makes the store of engines that are ready. */
export function createReadyEngines(needs: ReadyNeeds, entryOf: (type: string) => CatalogEntry): ReadyEngines {
	const kept = () =>
		new LRUCache<string, Promise<ReadyEngine>>({
			max: MAX_READY,
			ttl: IDLE_MS,
			ttlAutopurge: true,
			updateAgeOnGet: true,
			dispose: (engine) => void engine.then(({ connector }) => connector?.close()).catch(() => undefined),
		});
	// A row never changes, so neither does what is made of it. Of pki each realm has its own: as many as there are realms close no connection.
	const [known, ofRealms] = [kept(), kept()];

	function ready(meeting: Meeting, configure: () => Promise<Configuration>): Promise<ReadyEngine> {
		const isOfRealm = meeting.entry.type === PKI;
		const engines = isOfRealm ? ofRealms : known;
		const name = isOfRealm ? `${meeting.key} ${meeting.realm_id}` : meeting.key;
		const existing = engines.get(name);
		if (existing !== undefined) return existing;
		const made = configure().then((config) => assemble(needs, meeting, config));
		engines.set(name, made);
		made.catch(() => engines.delete(name));
		return made;
	}

	return {
		withRow: (row, realm_id = row.realm_id) =>
			ready({ entry: entryOf(row.engine), key: row.id, realm_id, is_outside: true }, async () => ({
				id: row.id,
				realm_id: row.realm_id,
				fields: await needs.sealer.open(row),
			})),
		without(entry, realm_id, is_outside) {
			const isShared = is_outside && entry.type === PKI && hasAuthority(needs.engine_environment);
			const key = isShared ? `${entry.type} outside` : entry.type;
			return ready({ entry, key, realm_id, is_outside }, async () => unconfigured(entry));
		},
		drop(config_id) {
			known.delete(config_id);
			needs.host.retire(config_id);
		},
		dropUnconfigured(type) {
			known.delete(type);
			if (type === PKI) ofRealms.clear();
			for (const key of [type, `${type} outside`]) needs.host.retire(key);
		},
		close() {
			known.clear();
			ofRealms.clear();
		},
	};
}

/** How an engine is met: by whom, with which of the processes, and whether with the server's own variables. */
interface Meeting {
	entry: CatalogEntry;
	/** Names the processes. */
	key: string;
	realm_id: string;
	is_outside: boolean;
}

async function assemble(needs: ReadyNeeds, meeting: Meeting, config: Configuration): Promise<ReadyEngine> {
	const { entry, realm_id } = meeting;
	const { type, descriptor, is_built_in, unavailable: reason } = entry;
	if (reason !== undefined) throw new AppError("engine_unavailable", `engine ${type} cannot be used: ${reason}`);
	const fields = type === "containerorch" ? withNamespace(config.fields, needs.engine_environment) : config.fields;
	const settings = settingsOf(needs, meeting, fields);
	const isWithout = type === PKI && !hasAuthority(settings.environment);
	const authority = isWithout && realm_id !== "" ? await authorityOf(needs, realm_id, fields) : undefined;
	const own = authority === undefined ? undefined : { _authority: authority };
	const connector = is_built_in ? await needs.connect(type, fields) : undefined;
	return {
		entry,
		config: { ...config, fields },
		target: targetOf(descriptor, fields, settings.environment),
		connector,
		async call(method, params, caller) {
			const answer = await needs.host.call(type, settings, method, { ...params, ...own }, caller);
			return connector === undefined ? withoutCommand(answer) : answer;
		},
	};
}

/** A command is for a target of the core's. Of an engine that has none it is an error, and goes nowhere. Design: §13 */
function withoutCommand(answer: EngineResponse): EngineResponse {
	const isCommand =
		"data" in answer && (Object.hasOwn(answer.data, "kv_command") || Object.hasOwn(answer.data, "doc_command"));
	return isCommand
		? { error: "the engine answered with a command, and there is no system for it to be run at" }
		: answer;
}

/** The answer where a realm has no configuration of an engine that needs one. */
export function notConfigured(type: string): AppError {
	return new AppError(
		"engine_not_configured",
		`engine ${type} is not configured here: the instance admin does it with \`svc engine set ${type}\``,
	);
}

/** An engine that needs no configuration works without one. */
function unconfigured({ type, descriptor }: CatalogEntry): Configuration {
	if (descriptor.config_schema.required.length === 0)
		return { id: "", realm_id: "", fields: checkFields(descriptor, {}, undefined) };
	throw notConfigured(type);
}

function settingsOf(needs: ReadyNeeds, { entry, key, is_outside }: Meeting, fields: Fields): EngineSettings {
	const { type, descriptor } = entry;
	const outside = outsideFor(needs, type);
	if (!is_outside) for (const variable of AUTHORITY_VARIABLES) delete outside[variable];
	const environment = { ...outside, ...environmentOf(descriptor, fields) };
	// What stands in for an authority comes with each request: no process is a realm's own.
	if (type === PKI && !hasAuthority(environment)) {
		for (const variable of AUTHORITY_VARIABLES) delete environment[variable];
		environment.SVC_PKI_CA_PER_REQUEST = "true";
	}
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

/** Whether variables of the server can take the place of a configuration. */
export function takesVariables(type: string): boolean {
	return Object.hasOwn(OUTSIDE, type);
}

function outsideFor(needs: ReadyNeeds, type: string): Record<string, string> {
	const wanted = Object.hasOwn(OUTSIDE, type) ? OUTSIDE[type] : undefined;
	return Object.fromEntries(Object.entries(needs.engine_environment).filter(([name]) => wanted?.test(name)));
}
