import { hostname } from "node:os";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { knownSourceCutoff } from "../accounts/known-sources.ts";
import { openSetupCode } from "../accounts/setup-code.ts";
import { createCheckpointer } from "../audit/checkpoints.ts";
import { systemEvent } from "../audit/model.ts";
import { type Config, isLoopback } from "../config.ts";
import { type Keyring, openKeyring } from "../crypto/keyring.ts";
import { findMasterKey, findNextMasterKey, loadMasterKey, type MasterKey } from "../crypto/master-key.ts";
import type { BuiltInEngine } from "../engines/host/model.ts";
import { pendingCutoff } from "../factors/model.ts";
import { type AlterationWatch, createAlterationWatch } from "../health/alteration.ts";
import { readBuild, VERSION } from "../health/build.ts";
import { agreeOnCertificate, loadTls, type ServerTls } from "../http/certificate.ts";
import { Connections } from "../http/connections.ts";
import { type Listener, listen, prepareToListen } from "../http/listen.ts";
import { createRowRenewal, type RowRenewal } from "../keys/row-renewal.ts";
import type { LeaseClock } from "../leases/clock.ts";
import { createLimits } from "../limits.ts";
import type { Log } from "../log.ts";
import { purgeRealms } from "../realms/deletion.ts";
import { purgeDeletedSecrets } from "../secrets/deletion.ts";
import { convertProviders } from "../sso/former-providers.ts";
import { createProtocols, loadProtocols } from "../sso/protocols.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";
import { forgetExpiredTokens } from "../tokens/tokens.ts";
import { wireApp } from "./app.ts";
import type { AppParts } from "./app-parts.ts";
import { wireBackups } from "./backups.ts";
import { createCommonTexts } from "./common-texts.ts";
import { type EngineComponents, wireEngines } from "./engines.ts";

/** A running server. */
export interface Running {
	version: string;
	url: string;
	tls: ServerTls | undefined;
	masterKey: Pick<MasterKey, "file" | "fingerprint" | "origin" | "generated">;
	/** File with the setup code for the first account; undefined when none is needed. */
	setup_code_file: string | undefined;
	/** True once anybody has registered. */
	has_accounts: boolean;
	/** Says that it is not ready for as long as the settings want, finishes requests in progress, then releases everything: 10 s at most. */
	stop(): Promise<void>;
	/** Reloads the certificate files. */
	reload(): Promise<void>;
}

/** Dependencies of `serve`. */
interface Needs {
	config: Config;
	store: Store;
	system: System;
	log: Log;
	built_in: readonly BuiltInEngine[];
	components: Partial<EngineComponents>;
	/** The backup made before a migration. */
	before: string | undefined;
}

/** Milliseconds for requests and engines to end: the ledger has what is unfinished then, and the next start takes it up. */
const STOP_MS = 9_000;
const CHECKPOINT_MS = 1000;
/** Milliseconds between two integrity checks of the database. Design: §13. */
const INTEGRITY_MS = 10 * 60 * 1000;
const HOUSEKEEPING_MS = 60 * 60 * 1000;

/**
 * Serves an open store: keys, certificate, engines, listener, in this order.
 * @throws FatalError whose message says what to do; the caller closes the store
 */
export async function serve({ config, store, system, log, built_in, components, before }: Needs): Promise<Running> {
	const masterKey = await loadMasterKey(config, await store.keys.fingerprint(), system);
	const keyring = await openKeys({ config, store, system, log }, masterKey);
	await recordFileEvents({ store, system, log }, before);
	const watch = createAlterationWatch({ store, system, log });
	await watch.checkSchema();
	if (!watch.isAltered()) await convertProviders({ store, keyring, system, log });
	const common = store.claims.isShared ? createCommonTexts({ store, keyring, system }) : undefined;
	if (common !== undefined) await agreeOnCertificate(config, system, (offered) => common.agree("certificate", offered));
	const tls = loadTls(config, system);
	let isStopping = false;
	let url = "";
	const setup_code = await openSetupCode({ config, store, common, system });
	const era = await store.backups.era();
	const parts = { config, store, keyring, system, era, log, setup_code };
	const engines = await wireEngines({ ...parts, built_in, version: VERSION, components });
	const limits = createLimits();
	const protocols = createProtocols(limits);
	const master = { ...masterKey, next: () => findNextMasterKey(config) };
	const backups = wireBackups(parts);
	const { trusted_proxies } = config;
	const connections = new Connections({ max: config.limits.connections, trusted_proxies, limits });
	const all = { ...parts, master, engines, backups, protocols, limits, connections, build: readBuild() };
	const renewal = createRowRenewal({ ...parts, ...watch });
	const app = wireApp({ ...all, renewal, address: () => url, isStopping: () => isStopping, ...watch });
	await engines.clockSaved;
	const listener = await listen({ ...app, connections }, config.listen, tls);
	url = addressOf(config, listener, tls);
	await joinNodes({ store, system, keyring, master }, url);
	await warn({ config, store, log }, masterKey, url);
	engines.start();
	await loadProtocols(protocols, store.sso);
	const chores = await startChores({ store, system, keyring, log, watch, renewal, clock: engines.clock });
	return {
		version: VERSION,
		url,
		tls,
		masterKey,
		setup_code_file: setup_code.file,
		has_accounts: await store.accounts.hadAny(),
		async stop() {
			isStopping = true;
			await delay(1000 * config.drain_seconds);
			const ending = listener.close().then(() => Promise.all([engines.stop(), protocols.close()]));
			await Promise.race([ending, delay(STOP_MS, undefined, { ref: false })]);
			await chores.stop();
			await store.close();
		},
		reload: async () => reloadTls(config, system, listener, log),
	};
}

/** Opens the store's keyring. The store compares its rows meanwhile, and Node prepares to listen. */
async function openKeys(
	{ config, store, system, log }: Pick<Needs, "config" | "store" | "system" | "log">,
	{ key }: MasterKey,
): Promise<Keyring> {
	const { keys, guard, alone } = store;
	const findMaster = store.claims.isShared ? masterKeyFinder({ config, log }) : undefined;
	void nextTurn().then(prepareToListen);
	const keyring = await openKeyring({ keys, guard, alone, findMaster, master: key.reveal(), system });
	store.readKeysWith(() => keyring.follow());
	return keyring;
}

/** Names this server among those that use the store. */
function joinNodes(
	{ store, system, keyring, master }: Pick<AppParts, "store" | "system" | "keyring" | "master">,
	address: string,
): Promise<void> {
	const started_at = system.now().toISOString();
	return store.join({ id: system.uuid(), name: hostname(), version: VERSION, address, started_at }, async () => ({
		master_key: keyring.fingerprint,
		next_master_key: (await master.next().catch(() => undefined))?.fingerprint ?? "",
	}));
}

/** Makes the function that finds the master key that another server has put in use. */
function masterKeyFinder({ config, log }: Pick<Needs, "config" | "log">) {
	let missing: string | undefined;
	return async (fingerprint: string): Promise<Buffer | undefined> => {
		const found = await findMasterKey(config, fingerprint);
		if (found !== undefined)
			log("info", "master_key.replaced", { fingerprint, ...(found.file !== undefined && { file: found.file }) });
		else if (missing !== fingerprint) log("error", "master_key.missing", { fingerprint });
		missing = found === undefined ? fingerprint : undefined;
		return found?.key.reveal();
	};
}

/** Records in the database's log what was done to its files before it was opened. @param before the backup made before a migration */
async function recordFileEvents(
	{ store, system, log }: Pick<Needs, "store" | "system" | "log">,
	before: string | undefined,
): Promise<void> {
	const now = system.now();
	const restored = await store.backups.restored();
	if (restored !== undefined) {
		await store.backups.noteRestored(systemEvent(now, "backup.restored", undefined, { ...restored }));
		log("warn", "backup.restored", { file: restored.name });
	}
	if (before === undefined) return;
	await store.audit.append(systemEvent(now, "backup.created", undefined, { name: before }));
	log("info", "backup.created", { file: before });
}

/** Switches to the renewed certificate. Logs one that is unusable and keeps the current one: a failed renewal must not end the service. */
function reloadTls(config: Config, system: System, listener: Listener, log: Log): void {
	try {
		const renewed = loadTls(config, system);
		if (renewed !== undefined) listener.renew(renewed);
		log("info", "tls.reloaded", renewed === undefined ? {} : { fingerprint: renewed.fingerprint });
	} catch (error) {
		log("error", "tls.reload.failed", {
			message: "the current certificate stays in use: correct the files, then send SIGHUP",
			error,
		});
	}
}

type ChoreNeeds = Parameters<typeof createCheckpointer>[0] &
	Parameters<typeof purgeRealms>[0] & {
		store: Store;
		watch: AlterationWatch;
		renewal: RowRenewal;
		clock: Pick<LeaseClock, "now">;
	};

/** Starts the periodic chores. A failed one is logged and tried again. While the database is not trusted, none signs or removes anything. */
async function startChores(needs: ChoreNeeds): Promise<{ stop(): Promise<void> }> {
	const checkpoint = await createCheckpointer(needs);
	const { watch, renewal, log } = needs;
	let hasStopped = false;
	const attempt = (event: string, work: () => Promise<unknown>) => async () => {
		if (!watch.isAltered()) await work().catch((error: unknown) => hasStopped || log("error", event, { error }));
	};
	let hasDistrusted = false;
	const distrust = async () => {
		if (hasDistrusted || watch.isSound()) return;
		hasDistrusted = true;
		const count = await needs.store.leases.distrust({ due_at: needs.clock.now() });
		if (count > 0)
			log("warn", "leases.distrusted", { count, message: "another program altered them: they are revoked" });
	};
	const checkIntegrity = attempt("database.look.failed", async () => {
		await watch.checkIntegrity();
		await distrust();
	});
	const sign = attempt("audit.checkpoint.failed", () => checkpoint(false));
	const tidy = attempt("housekeeping.failed", async () => {
		if (!(await needs.store.duties.take("purges"))) return;
		renewal.start();
		const now = needs.system.now().toISOString();
		await needs.store.accounts.dropSessions(now);
		await needs.store.accounts.dropKnownSources(knownSourceCutoff(needs.system.now()));
		await needs.store.resets.drop(now);
		await needs.store.invitations.drop(now);
		await needs.store.factors.dropPending(pendingCutoff(needs.system.now()));
		await needs.store.sso.forgetUsed(now);
		await needs.store.trusts.forgetUsed(now);
		await forgetExpiredTokens(needs);
		await purgeDeletedSecrets(needs);
		await purgeRealms(needs);
	});
	// Only after those who wait for the server learn that it listens.
	await distrust().catch((error: unknown) => log("error", "database.look.failed", { error }));
	void nextTurn().then(checkIntegrity);
	void needs.store.altered.then(checkIntegrity);
	let tidying = nextTurn().then(tidy);
	const tidyAgain = () => {
		tidying = tidy();
	};
	const timers = [
		setInterval(sign, CHECKPOINT_MS),
		setInterval(checkIntegrity, INTEGRITY_MS),
		setInterval(tidyAgain, HOUSEKEEPING_MS),
	];
	for (const timer of timers) timer.unref();
	return {
		async stop() {
			for (const timer of timers) clearInterval(timer);
			await Promise.all([tidying, renewal.stop()]);
			await attempt("audit.checkpoint.failed", () => checkpoint(true))();
			// An integrity check that is under way ends with the store.
			hasStopped = true;
		},
	};
}

async function warn(
	{ config, store, log }: Pick<Needs, "config" | "store" | "log">,
	{ warnings }: MasterKey,
	url: string,
): Promise<void> {
	for (const message of warnings) log("warn", "master_key", { message });
	if (config.registration.mode === "open" && !isLoopback(config.listen.host))
		log("warn", "registration.open", {
			message:
				"anybody who can reach this address can register: set registration.mode to admin, domain or closed (SVC_REGISTRATION_MODE)",
		});
	if (config.base_url !== undefined || new URL(url).hostname !== "localhost") return;
	const count = (await store.sso.providers()).filter(({ type }) => type !== "ldap").length;
	if (count === 0) return;
	log("warn", "base_url.default", {
		message: `base_url is not set, so sign-in providers must know this server as ${url}, and not by its IP address: register its addresses there, or set base_url (SVC_BASE_URL) to the address that they know`,
		count,
	});
}

/**
 * Addresses that are reached at `localhost`, too: browsers allow passkeys there, and at no IP address. Without TLS the name stays as it was, for the
 * proxies and programs that know it.
 */
const LOCALHOST = ["127.0.0.1", "::1"];

function addressOf(config: Config, { address }: Listener, tls: ServerTls | undefined): string {
	if (config.base_url !== undefined) return config.base_url;
	const named = tls !== undefined && LOCALHOST.includes(address.host) ? "localhost" : address.host;
	const host = named.includes(":") ? `[${named}]` : named;
	return `${tls === undefined ? "http" : "https"}://${host}:${address.port}`;
}
