import { SETUP_CODE_FILE } from "./accounts/setup-code.ts";
import { type Config, readConfig } from "./config.ts";
import type { Around } from "./engine-parts.ts";
import type { BuiltInEngine } from "./engines/host/catalog.ts";
import { FatalError } from "./errors.ts";
import { TLS_FILES } from "./http/tls-files.ts";
import { createLog } from "./log.ts";
import type { Running } from "./serving.ts";
import { checkDataDirectory, DATABASE_FILES } from "./store/sqlite/files.ts";
import type { Synchronous } from "./store/sqlite/open.ts";
import { openSqliteStore } from "./store/sqlite/store.ts";
import { system as realSystem, type System } from "./system.ts";

/** Parts that a test may replace. */
export interface StartOptions {
	system?: System;
	/** Receives each log line; standard error by default. */
	writeLog?: (line: string) => void;
	/** Less than FULL loses acknowledged writes in a power cut: only the test that proves this sets it. */
	synchronous?: Synchronous;
	around?: Around;
	/** Receives the error after which the server cannot go on. */
	onFatal?: (error: FatalError) => void;
}

/**
 * Starts the server: settings, files, database, then the serving code, which loads while the writer's thread starts. If one fails, nothing stays open.
 * @param built_in the engines shipped with it
 * @throws FatalError whose message says what to do
 */
export async function startServer(
	config: Config,
	built_in: readonly BuiltInEngine[],
	options: StartOptions = {},
): Promise<Running> {
	process.umask(0o077);
	const system = options.system ?? systemOf(config);
	const log = createLog(config.log_level, system, options.writeLog ?? ((line) => process.stderr.write(line)));
	const around = options.around ?? {};
	checkDataDirectory(config.data_dir, [...DATABASE_FILES, ...TLS_FILES, SETUP_CODE_FILE]);
	let before: string | undefined;
	const opening = openSqliteStore({
		directory: config.data_dir,
		beforeMigration: async (...migration) => {
			const { backUpBefore } = await import("./backup-parts.ts");
			before = await backUpBefore({ config, system }, ...migration);
		},
		now: system.now(),
		onFailure: options.onFatal ?? exit,
		...(options.synchronous === undefined ? {} : { synchronous: options.synchronous }),
	});
	const [opened, { serve }] = await Promise.all([opening, import("./serving.ts")]);
	const store = around.store?.(opened) ?? opened;
	try {
		return await serve({ config, store, system, log, built_in, around, before });
	} catch (error) {
		await store.close();
		throw error;
	}
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
