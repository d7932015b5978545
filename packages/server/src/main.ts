import type { Worker } from "node:worker_threads";
import { SETUP_CODE_FILE } from "./accounts/setup-code.ts";
import { type Config, readConfig } from "./config.ts";
import type { BuiltInEngine } from "./engines/host/model.ts";
import { FatalError } from "./errors.ts";
import { TLS_FILES } from "./http/tls-files.ts";
import { createLog } from "./log.ts";
import { checkDataDirectory, DATABASE_FILES } from "./store/sqlite/files.ts";
import { openSqliteStore } from "./store/sqlite/store.ts";
import type { Store } from "./store/store.ts";
import { system as realSystem, type System } from "./system.ts";
import type { EngineComponents } from "./wiring/engines.ts";
import type { NetworkedOptions } from "./wiring/networked-store.ts";
import type { Running } from "./wiring/serve.ts";

/** Components that the server is made of; each has a default. */
export interface Components extends EngineComponents {
	system: System;
	openStore: typeof openSqliteStore;
	/** The thread that writes an SQLite database, where it was started before the settings were read. */
	writer: Worker;
}

/**
 * Starts the server: settings, files, database, then the serving code, which loads while the writer's thread starts. If one fails, nothing stays open.
 * @param built_in the engines that are part of the program
 * @throws FatalError whose message says what to do
 */
export async function startServer(
	config: Config,
	built_in: readonly BuiltInEngine[],
	components: Partial<Components> = {},
): Promise<Running> {
	process.umask(0o077);
	const { system = systemOf(config), openStore = openSqliteStore, writer } = components;
	const log = createLog(config.log_level, system, (line) => process.stderr.write(line));
	checkDataDirectory(config.data_dir, [...DATABASE_FILES, ...TLS_FILES, SETUP_CODE_FILE]);
	let before: string | undefined;
	const now = system.now();
	const beforeMigration = async (...migration: [name: string, copyTo: Store["copyTo"]]) => {
		const { backUpBefore } = await import("./wiring/backups.ts");
		before = await backUpBefore({ config, system }, ...migration);
	};
	if (config.database !== undefined) void writer?.terminate();
	const opening =
		config.database === undefined
			? openStore({ directory: config.data_dir, beforeMigration, now, writer, onFailure: exit })
			: openNetworked({ config, now, log });
	const [store, { serve }] = await Promise.all([opening, import("./wiring/serve.ts")]);
	try {
		return await serve({ config, store, system, log, built_in, components, before });
	} catch (error) {
		await store.close();
		throw error;
	}
}

/** Opens the store on PostgreSQL, whose code is loaded for it alone. */
async function openNetworked(options: Omit<NetworkedOptions, "onFailure">): Promise<Store> {
	const { openNetworkedStore } = await import("./wiring/networked-store.ts");
	return openNetworkedStore({ ...options, onFailure: exit });
}

/** Returns the machine's own system, except for what the unit hides. */
function systemOf({ boot_id }: Config): System {
	return boot_id === undefined ? realSystem : { ...realSystem, bootId: () => boot_id };
}

function exit(error: FatalError): void {
	process.stderr.write(`svc: ${error.message}\n`);
	process.exit(error.exitCode);
}

export { type BuiltInEngine, FatalError, type Running, readConfig };
