import { createKnownSources } from "../accounts/known-sources.ts";
import { createPasswordQueue } from "../accounts/password-queue.ts";
import { accountRoutes } from "../accounts/routes.ts";
import { createThrottle } from "../accounts/throttle.ts";
import { createBulkReads } from "../audit/bulk-reads.ts";
import { auditRoutes } from "../audit/routes.ts";
import { createBackupSemaphore } from "../backups/backups.ts";
import { backupRoutes } from "../backups/routes.ts";
import { createCache } from "../cache.ts";
import { createConsole } from "../console/console.ts";
import type { SiteNeeds } from "../console/endpoints.ts";
import { createComparisons, createKeyLists } from "../console/large-pages.ts";
import { WIDTHS } from "../crypto/argon2.ts";
import { createSessionTokens } from "../crypto/session.ts";
import { doctorRoutes } from "../doctor/routes.ts";
import { openEverything } from "../doctor/sealed.ts";
import { createEngineCalls, createRoleCheck } from "../engines/engines.ts";
import { leaseLimits } from "../engines/limits.ts";
import { engineRoutes } from "../engines/routes.ts";
import { factorRoutes } from "../factors/routes.ts";
import { createMetrics, type Metrics } from "../health/metrics.ts";
import { healthRoutes } from "../health/routes.ts";
import { createAdmission } from "../http/admission.ts";
import { Answers } from "../http/answers.ts";
import { createApp } from "../http/app.ts";
import { Bodies } from "../http/bodies.ts";
import { docsRoutes } from "../http/docs-routes.ts";
import { createHeaders } from "../http/headers.ts";
import { openApiRoute } from "../http/openapi-route.ts";
import type { Route } from "../http/route.ts";
import { Scheduler } from "../http/scheduler.ts";
import { invitationRoutes } from "../invitations/routes.ts";
import { keyRoutes } from "../keys/routes.ts";
import { leaseRoutes } from "../leases/routes.ts";
import { type Limits, lowDiskLimit, questionLimit } from "../limits.ts";
import { machineRoutes } from "../machines/routes.ts";
import type { NodeNeeds } from "../nodes/nodes.ts";
import { nodeRoutes } from "../nodes/routes.ts";
import { operatorSyncRoutes } from "../operator-sync/routes.ts";
import { createIdentify } from "../policy/authenticate.ts";
import { policyRoutes } from "../policy/routes.ts";
import { realmRoutes } from "../realms/routes.ts";
import { rowLimits } from "../realms/row-limits.ts";
import { resetRoutes } from "../resets/routes.ts";
import { revocationRoutes } from "../revocation/routes.ts";
import { createRewrites } from "../secrets/deletion.ts";
import { createPromotions } from "../secrets/promotion.ts";
import { secretRoutes } from "../secrets/routes.ts";
import { createWholeReads } from "../secrets/snapshot.ts";
import { createLongQuestions, createVerifications } from "../semaphore.ts";
import { createDirectories } from "../sso/ask-directory.ts";
import { createFlows } from "../sso/flows.ts";
import { ssoRoutes } from "../sso/routes.ts";
import { tokenRoutes } from "../tokens/routes.ts";
import { createDnsLookups } from "../trusts/dns-lookup.ts";
import { GivenKeys } from "../trusts/given-keys.ts";
import { createIssuerKeys } from "../trusts/issuer-keys.ts";
import { trustRoutes } from "../trusts/routes.ts";
import type { AppParts } from "./app-parts.ts";
import { wireDoctor } from "./doctor.ts";
import type { Engines } from "./engines.ts";

/** API tokens whose last use is cached, so that it is written only once a minute. */
const MAX_NOTED = 10_000;

/** Assembles the server: each noun's routes with the parts that its rules need, and the app that dispatches requests to them. */
export function wireApp(parts: AppParts) {
	const { config, store, system, keyring, log, build, limits, address, isAltered } = parts;
	const signing = createSigning(parts);
	const noted = createCache<string, number>(MAX_NOTED);
	const identify = createIdentify({ ...signing, store, system, second_factor: config.second_factor, noted });
	const issuer_keys = createIssuerKeys({ ...config.trusts, dns_lookups: createDnsLookups() });
	const metrics = createMetrics({ ...parts, issuer_keys });
	const semaphores = createWorkLimits(limits);
	const { promotions, rewrites, whole_reads, long_questions, verifications, calls, backup_semaphore } = semaphores;
	const needs = { store, system, keyring, hasRole: createRoleCheck(parts.engines), long_questions };
	const counted = { store, system, runtime: parts.engines.runtime, refusals: limits.refusals };
	const [ofRows, ofLeases] = [rowLimits(counted, config.limits), leaseLimits(counted)];
	const ofParts = [lowDiskLimit(store), questionLimit(store), issuer_keys.limit, ...parts.engines.host.limits];
	for (const limit of [...ofParts, ...ofRows, ...ofLeases]) limits.add(limit);
	const [sso, server] = [createSso(parts), createServerNeeds(parts, { ...needs, backup_semaphore })];
	const secrets = {
		...needs,
		bulk_reads: createBulkReads(store.audit),
		whole_reads,
		enforce_expiry: config.enforce_expiry,
		realm_bytes: config.limits.realm_bytes,
	};
	const routes: Route[] = [
		...healthRoutes({ ...parts, metrics }),
		...peopleRoutes(parts, signing, identify),
		...ssoRoutes({ ...needs, ...signing, ...sso, address }),
		...tokenRoutes(needs),
		...machineRoutes(needs),
		...trustRoutes({ ...needs, ...signing, log, issuer_keys, ...createSearch() }),
		...realmRoutes({ ...needs, realms_per_account: config.limits.realms_per_account }),
		...secretRoutes({ ...secrets, promotions, rewrites }),
		...policyRoutes(needs),
		...engineRoutes({ ...needs, ...parts.engines, calls }),
		...leaseRoutes({ ...needs, ...parts.engines }),
		...revocationRoutes({ ...needs, ...parts.engines }),
		...operatorSyncRoutes({ ...secrets, isComplete: parts.isComplete }),
		...auditRoutes({ ...needs, verifications, openEverything: server.openEverything }),
		...careRoutes(server),
	];
	routes.push(openApiRoute(routes, build.version));
	const newHeaders = createHeaders(system);
	const made = { answers: new Answers({ log, limits }), bodies: new Bodies(limits) };
	const { trusted_proxies } = config;
	const rules = { ...secrets, ...signing, ...sso, ...semaphores, issuer_keys, server };
	const pages = wireConsole(parts, metrics, { ...rules, openEverything: server.openEverything });
	const { keepUp } = store;
	const app = createApp(
		{ log, metrics, newHeaders, limits, ...made, trusted_proxies, identify, isAltered, keepUp, pages },
		[...routes, ...docsRoutes()],
	);
	const admission = createAdmission({ newHeaders, limits }, trusted_proxies);
	return { app: app as never, newHeaders, admission };
}

/** Creates the semaphores in which accounts take turns at costly work. */
function createWorkLimits(limits: Pick<Limits, "add">) {
	const semaphores = {
		promotions: createPromotions(),
		rewrites: createRewrites(),
		whole_reads: createWholeReads(),
		comparisons: createComparisons(),
		key_lists: createKeyLists(),
		long_questions: createLongQuestions(),
		verifications: createVerifications(),
		calls: createEngineCalls(),
		backup_semaphore: createBackupSemaphore(),
	};
	for (const { limit } of Object.values(semaphores)) limits.add(limit);
	return semaphores;
}

/** Makes the dependencies that exchanges of JWTs share. */
const createSearch = () => ({
	given_keys: new GivenKeys(),
	scheduler: new Scheduler(),
});

/** Makes the dependencies of the rules about the server itself. */
function createServerNeeds<Needs extends object>(parts: AppParts, needs: Needs) {
	const { keyring, log, master, renewal } = parts;
	const doctor = { ...needs, ...wireDoctor(parts) };
	return {
		backups: { ...needs, ...parts.backups, log, master },
		keys: { ...needs, master, renewRows: renewal.start },
		doctor,
		nodes: needs,
		openEverything: () => openEverything({ ...doctor, keyring }, new AbortController().signal),
	};
}

/** Makes the routes of the server's own care. */
function careRoutes({ backups, keys, doctor, nodes }: Care): Route[] {
	return [...backupRoutes(backups), ...keyRoutes(keys), ...doctorRoutes(doctor), ...nodeRoutes(nodes)];
}

/** Dependencies of the routes of the server's own care. */
interface Care {
	backups: Parameters<typeof backupRoutes>[0];
	keys: Parameters<typeof keyRoutes>[0];
	doctor: Parameters<typeof doctorRoutes>[0];
	nodes: NodeNeeds;
}

/** Makes the dependencies that logins at providers share. */
function createSso({ system, keyring, era, address, limits, protocols }: AppParts) {
	const isSecure = () => address().startsWith("https:");
	const flows = createFlows(system, { keys: () => keyring.session(), era }, isSecure);
	return { flows, limits, protocols, directory: createDirectories(limits) };
}

/** Makes the console from the rules' parts. */
function wireConsole(
	parts: AppParts,
	{ history }: Metrics,
	rules: Omit<
		SiteNeeds,
		keyof AppParts | keyof Engines | "history" | "realms_per_account" | "second_factor" | "scheduler"
	>,
) {
	const { limits, base_url, second_factor } = parts.config;
	const { realms_per_account } = limits;
	const own = { history, realms_per_account, second_factor, scheduler: new Scheduler() };
	return createConsole(base_url, { ...parts, ...parts.engines, ...rules, ...own });
}

/** Makes the routes of accounts, and of the codes with which people get in. */
function peopleRoutes(
	{ store, system, keyring, setup_code, address }: AppParts,
	signing: ReturnType<typeof createSigning>,
	identify: ReturnType<typeof createIdentify>,
): Route[] {
	const needs = { store, system, keyring, ...signing };
	return [
		...accountRoutes({ ...needs, setup_code, identify }),
		...factorRoutes({ ...needs, address }),
		...resetRoutes(needs),
		...invitationRoutes(needs),
	];
}

/** Makes the dependencies that all ways to sign in share. */
function createSigning({ config: { registration }, keyring, system, store, limits }: AppParts) {
	const known_sources = createKnownSources({ store, keyring, system });
	const [passwords, throttle] = [createPasswordQueue(WIDTHS), createThrottle(known_sources, store.attempts)];
	for (const limit of [...passwords.limits, ...throttle.limits]) limits.add(limit);
	return {
		sessions: createSessionTokens(() => keyring.session(), system),
		throttle,
		passwords,
		known_sources,
		registration,
	};
}
