import { openSetupCode, SETUP_CODE_FILE } from "./accounts/setup-code.ts";
import { createCheckpointer } from "./audit/checkpoints.ts";
import { backUpBefore, createBackupParts } from "./backup-parts.ts";
import { type Config, isLoopback, readConfig } from "./config.ts";
import { createCore } from "./core.ts";
import { openKeyring } from "./crypto/keyring.ts";
import { findNextMasterKey, loadMasterKey, type MasterKey } from "./crypto/master-key.ts";
import { type Around, createEngineParts } from "./engine-parts.ts";
import type { ShippedEngine } from "./engines/host/catalog.ts";
import { FatalError } from "./errors.ts";
import { readBuild, VERSION } from "./health/build.ts";
import { loadTls, type ServerTls, TLS_FILES } from "./http/certificate.ts";
import { type Listener, listen } from "./http/listen.ts";
import { createLog, type Log } from "./log.ts";
import { purgeRealms } from "./realms/realms.ts";
import { createProtocols, loadProtocols } from "./sso/protocols.ts";
import { checkDataDirectory, DATABASE_FILES } from "./store/sqlite/files.ts";
import type { Synchronous } from "./store/sqlite/open.ts";
import { openSqliteStore } from "./store/sqlite/store.ts";
import type { Store } from "./store/store.ts";
import { system as realSystem, type System } from "./system.ts";

/** What a test may replace. */
export interface StartOptions {
	system?: System;
	/** Receives each line of the log; standard error when it is absent. */
	writeLog?: (line: string) => void;
	/** Less than FULL loses answered writes at a power cut: only the test that proves this asks for it. */
	synchronous?: Synchronous;
	around?: Around;
	/** Told that the server cannot go on. */
	onFatal?: (error: FatalError) => void;
}

/** A running server. */
export interface Running {
	version: string;
	url: string;
	tls: ServerTls | undefined;
	masterKey: Pick<MasterKey, "file" | "fingerprint" | "origin" | "generated">;
	/** Holds what the first account needs; undefined when nothing asks for it. */
	setup_code_file: string | undefined;
	/** Answers what is under way, then lets go of everything. */
	stop(): Promise<void>;
	/** Reads the certificate files anew. */
	reload(): Promise<void>;
}

const CHECKPOINT_MS = 1000;
const HOUSEKEEPING_MS = 60 * 60 * 1000;

/**
 * Starts the server: settings, files, database, keys, engines, listener, in this order; when one fails, nothing is left open.
 * @param shipped the engines that come with it
 * @throws FatalError whose message says what to do
 */
export async function startServer(
	config: Config,
	shipped: readonly ShippedEngine[],
	options: StartOptions = {},
): Promise<Running> {
	process.umask(0o077);
	const system = options.system ?? systemOf(config);
	const log = createLog(config.log_level, system, options.writeLog ?? ((line) => process.stderr.write(line)));
	const onFatal = options.onFatal ?? exit;
	checkDataDirectory(config.data_dir, [...DATABASE_FILES, ...TLS_FILES, SETUP_CODE_FILE]);
	let before: string | undefined;
	const opened = await openSqliteStore({
		directory: config.data_dir,
		beforeMigration: async (...migration) => {
			before = await backUpBefore({ config, system }, ...migration);
		},
		now: system.now(),
		onFailure: onFatal,
		...(options.synchronous === undefined ? {} : { synchronous: options.synchronous }),
	});
	const store = options.around?.store?.(opened) ?? opened;
	try {
		const masterKey = await loadMasterKey(config, await store.keys.fingerprint(), system);
		const keyring = await openKeyring({ keys: store.keys, master: masterKey.key.reveal(), system });
		await tellFiles({ store, system, log }, before);
		const tls = loadTls(config, system);
		let isStopping = false;
		let url = "";
		const setup_code = await openSetupCode({ config, store, system });
		const common = { config, store, keyring, system, log, setup_code };
		const engines = await createEngineParts({ ...common, shipped, version: VERSION, around: options.around ?? {} });
		const protocols = createProtocols();
		const master = { ...masterKey, next: () => findNextMasterKey(config) };
		const backups = createBackupParts(common);
		const parts = { ...common, master, engines, backups, protocols, build: readBuild() };
		const core = createCore({ ...parts, address: () => url, isStopping: () => isStopping });
		const listener = await listen(core, config.listen, tls);
		url = addressOf(config, listener, tls);
		warn(config, masterKey, log);
		engines.start();
		await loadProtocols(protocols, store.sso);
		const chores = startChores({ store, system, keyring, log });
		return {
			version: VERSION,
			url,
			tls,
			masterKey,
			setup_code_file: setup_code.file,
			async stop() {
				isStopping = true;
				await listener.close();
				await Promise.all([engines.stop(), protocols.close()]);
				await chores.stop();
				await store.close();
			},
			reload: async () => reloadTls(config, system, listener, log),
		};
	} catch (error) {
		await store.close();
		throw error;
	}
}

/** What was done to the database's files before it was opened is written to its log. @param before the backup that was made before a migration */
async function tellFiles(
	{ store, system, log }: { store: Store; system: System; log: Log },
	before: string | undefined,
): Promise<void> {
	const about = { timestamp: system.now().toISOString(), actor: "system", realm_id: "", realm: "" };
	const restored = await store.backups.restored();
	if (restored !== undefined) {
		await store.backups.noteRestored({ ...about, type: "backup.restored", data: { ...restored } });
		log("warn", "backup.restored", { file: restored.name });
	}
	if (before === undefined) return;
	await store.audit.append({ ...about, type: "backup.created", data: { name: before } });
	log("info", "backup.created", { file: before });
}

/** The machine's own, but for what the unit hides. */
function systemOf({ boot_id }: Config): System {
	return boot_id === undefined ? realSystem : { ...realSystem, bootId: () => boot_id };
}

/** What cannot be used is told, and the certificate that is in use stays: whoever renews one must not end the service. */
function reloadTls(config: Config, system: System, listener: Listener, log: Log): void {
	try {
		const renewed = loadTls(config, system);
		if (renewed !== undefined) listener.renew(renewed);
		log("info", "tls.reloaded", renewed === undefined ? {} : { fingerprint: renewed.fingerprint });
	} catch (error) {
		log("error", "tls.reload.failed", {
			message: "the certificate in use stays: mend the files, then send SIGHUP",
			error,
		});
	}
}

type ChoreNeeds = Parameters<typeof createCheckpointer>[0] &
	Parameters<typeof purgeRealms>[0] & { store: Awaited<ReturnType<typeof openSqliteStore>> };

/** What has to be done from time to time. A failure is logged and tried again. */
function startChores(needs: ChoreNeeds): { stop(): Promise<void> } {
	const checkpoint = createCheckpointer(needs);
	const attempt = (event: string, work: () => Promise<unknown>) => () =>
		work().then(
			() => undefined,
			(error: unknown) => needs.log("error", event, { error }),
		);
	const sign = attempt("audit.checkpoint.failed", () => checkpoint(false));
	const tidy = attempt("housekeeping.failed", async () => {
		const now = needs.system.now().toISOString();
		await needs.store.accounts.dropSessions(now);
		await needs.store.sso.forgetUsed(now);
		await purgeRealms(needs);
	});
	let tidying = tidy();
	const tidyAgain = () => {
		tidying = tidy();
	};
	const timers = [setInterval(sign, CHECKPOINT_MS), setInterval(tidyAgain, HOUSEKEEPING_MS)];
	for (const timer of timers) timer.unref();
	return {
		async stop() {
			for (const timer of timers) clearInterval(timer);
			await tidying;
			await attempt("audit.checkpoint.failed", () => checkpoint(true))();
		},
	};
}

function warn(config: Config, { warnings }: MasterKey, log: Log): void {
	for (const message of warnings) log("warn", "master_key", { message });
	if (config.registration.mode !== "open" || isLoopback(config.listen.host)) return;
	log("warn", "registration.open", {
		message:
			"anybody who reaches this address can register: set registration.mode to admin, domain or closed (SVC_REGISTRATION_MODE)",
	});
}

function addressOf(config: Config, { address }: Listener, tls: ServerTls | undefined): string {
	if (config.base_url !== undefined) return config.base_url;
	const host = address.host.includes(":") ? `[${address.host}]` : address.host;
	return `${tls === undefined ? "http" : "https"}://${host}:${address.port}`;
}

function exit(error: FatalError): void {
	process.stderr.write(`svc: ${error.message}\n`);
	process.exit(error.exitCode);
}

export { FatalError, readConfig, type ShippedEngine };
