import assert from "node:assert/strict";
import { chmod, mkdir, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createServerCertificate } from "@svc/x509";
import { FatalError } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { createSemaphore } from "../semaphore.ts";
import { system } from "../system.ts";
import { anActor } from "../testing/actor.ts";
import { makeFolder } from "../testing/store.ts";
import { examine } from "./doctor.ts";
import { createFindings } from "./findings.ts";
import { checkClock, checkEngines, checkLeases } from "./leases.ts";
import { checkBackups, checkDisk, checkFiles } from "./machine.ts";
import type { Check } from "./model.ts";
import { checkBaseUrl, checkCertificate, checkMasterKey, checkRegistration } from "./settings.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const DAY_MS = 24 * 60 * 60 * 1000;
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
const found = (checks: readonly Check[]) => checks.map(({ status, message }) => `${status}: ${message}`).join("\n");

/** Sets up settings and files like those of a new server. */
async function settings(t: TestContext, certificate_made: Date) {
	const data_dir = await makeFolder(t);
	const names = ["svc.example.com", "127.0.0.1"];
	const made = createServerCertificate({ names, now: certificate_made, days: 90, randomBytes: system.randomBytes });
	const tls_files = [join(data_dir, "tls.crt"), join(data_dir, "tls.key")] as const;
	await writeFile(tls_files[0], made.certificate);
	await writeFile(tls_files[1], made.private_key, { mode: 0o600 });
	const tls = { mode: "self-signed", certificate_file: undefined, key_file: undefined } as const;
	const config = {
		data_dir,
		tls,
		base_url: undefined as string | undefined,
		listen: { host: "127.0.0.1", port: 8443 },
		registration: { mode: "open" as "open" | "admin", allowed_domains: [] },
	};
	const master = { origin: "file" as "file" | "environment" | "credential", file: "/etc/svc/master.key" };
	return { config, tls_files, master, system: { now: () => NOW }, address: () => "https://127.0.0.1:8443" };
}

test("a certificate is reported a month before its end, when it has ended, and before it begins", async (t) => {
	const cases: [made: Date, says: RegExp][] = [
		[inDays(-1), /^ok: .* 2027-02-18$/],
		[inDays(-70), /^warning: .* 2026-12-11$/],
		[inDays(-91), /^failed: .* 2026-11-20$/],
		[inDays(2), /^failed: .*\bnot valid today\b/],
	];
	for (const [made, says] of cases) assert.match(found(checkCertificate(await settings(t, made))), says);
	assert.match(found(checkCertificate({ ...(await settings(t, NOW)), tls_files: undefined })), /^ok: TLS\b/);
});

test("a certificate for a name other than base_url's, and a key that others may read, are reported", async (t) => {
	const needs = await settings(t, inDays(-1));
	const look = (base_url: string) => found(checkCertificate({ ...needs, config: { ...needs.config, base_url } }));
	assert.match(look("https://svc.example.com:9443/svc"), /^ok/);
	assert.match(look("https://127.0.0.1"), /^ok/);
	assert.match(look("https://other.example.com"), /^warning: .*\bbase_url$/);
	await chmod(needs.tls_files[1], 0o640);
	assert.match(look("https://svc.example.com"), /^failed: .*\bkey$/);
});

test("a master key next to the data, or in the environment, is a warning", async (t) => {
	const needs = await settings(t, NOW);
	const look = (master: { origin: "file" | "environment" | "credential"; file: string | undefined }) =>
		found(checkMasterKey({ ...needs, master }));
	assert.match(look(needs.master), /^ok: /);
	assert.match(look({ origin: "credential", file: "/run/credentials/svc.service/master-key" }), /^ok/);
	assert.match(look({ origin: "environment", file: undefined }), /^warning: .*\bSVC_MASTER_KEY\b/);
	for (const file of ["master.key", "keys/master.key"])
		assert.match(look({ origin: "file", file: join(needs.config.data_dir, file) }), /^warning: /);
});

test("open registration is a warning once others reach the server", async (t) => {
	const needs = await settings(t, NOW);
	const look = (host: string, mode: "open" | "admin") => {
		const config = { ...needs.config, listen: { host, port: 1 }, registration: { mode, allowed_domains: [] } };
		return found(checkRegistration({ ...needs, config }));
	};
	assert.match(look("127.0.0.1", "open"), /^ok/);
	assert.match(look("0.0.0.0", "admin"), /^ok/);
	assert.match(look("0.0.0.0", "open"), /^warning: .*\bregister$/);
});

test("a server that others reach, and that has no base_url, is a warning with the address that it sends people to", async (t) => {
	const needs = await settings(t, NOW);
	const look = (host: string, base_url?: string) => {
		const config = { ...needs.config, base_url, listen: { host, port: 8443 } };
		return found(checkBaseUrl({ config, address: () => `https://${host}:8443` }));
	};
	assert.match(look("0.0.0.0"), /^warning: .*https:\/\/0\.0\.0\.0:8443/);
	assert.match(look("127.0.0.1"), /^ok: .*https:\/\/127\.0\.0\.1:8443/);
	assert.match(look("0.0.0.0", "https://svc.example.com"), /^ok: .*https:\/\/svc\.example\.com$/);
});

test("files that others may read, a long write-ahead log, and an old backup or none are reported", async (t) => {
	const data_dir = await makeFolder(t);
	const needs = {
		data_dir,
		system: { now: () => NOW },
		checkDataDirectory: () => undefined,
		newestBackupAt: () => undefined,
	};
	assert.match(found(checkFiles(needs)), /^ok/);
	const checkDataDirectory = () => {
		throw new FatalError("x can be read or written by others: chmod 600 x");
	};
	assert.match(found(checkFiles({ ...needs, checkDataDirectory })), /^failed: x .*: chmod 600 x$/);
	assert.match(found(checkDisk(needs)), /^ok: [\d,]+ MiB free, .* PostgreSQL$/);
	await writeFile(join(data_dir, "svc.db"), "x");
	assert.match(found(checkDisk(needs)), /^ok: [\d,]+ MiB .* 0 MiB$/);
	await writeFile(join(data_dir, "svc.db-wal"), "");
	await truncate(join(data_dir, "svc.db-wal"), 2 ** 28);
	assert.equal((await stat(join(data_dir, "svc.db-wal"))).size, 2 ** 28);
	assert.match(found(checkDisk(needs)), /\nwarning: .* 256 MiB\b.*$/);
	// Sparse, and larger than any disk of today.
	await writeFile(join(data_dir, "svc.db"), "");
	await truncate(join(data_dir, "svc.db"), 2 ** 43);
	assert.match(found(checkDisk(needs)), /^warning: .*\bbackup\b/);
	const backup = (days: number) => found(checkBackups({ ...needs, newestBackupAt: () => inDays(-days).getTime() }));
	assert.match(found(checkBackups(needs)), /^warning: /);
	assert.match(backup(6), /^ok: .* 2026-11-15T12:00:00.000Z$/);
	assert.match(backup(8), /^warning: .*\b8 days\b/);
});

const QUIET = {
	system: { now: () => NOW },
	clock: { now: () => NOW.getTime(), lastJump: () => undefined },
	host: { state: () => [] },
	reaper: { targets: () => [], lateness: () => ({ overdue: 0, stuck: 0 }) },
};

test("a clock that jumped ahead is a warning, one that was set back a failure", () => {
	assert.match(found(checkClock(QUIET)), /^ok/);
	const lastJump = () => ({ at: "2026-11-21T11:00:00.000Z", ahead_ms: 3_600_000 });
	assert.match(
		found(checkClock({ ...QUIET, clock: { ...QUIET.clock, lastJump } })),
		/^warning: .* 3600 seconds ahead\b.* 2026-11-21T11:00:00.000Z$/,
	);
	const set = (seconds: number) => ({ ...QUIET, clock: { ...QUIET.clock, now: () => NOW.getTime() + seconds * 1000 } });
	assert.match(found(checkClock(set(10))), /^ok/);
	assert.match(found(checkClock(set(90))), /^failed: .*\b90 seconds\b/);
});

test("engines that are not used and those that keep failing are failures, with why", () => {
	const engine = {
		type: "a",
		processes: 0,
		breaker: "closed" as const,
		refused_realms: 0,
		last_failure: undefined,
		unavailable: undefined,
	};
	const state = () => [
		engine,
		{ ...engine, type: "b", unavailable: "plugin.json has no sha256 for its executable" },
		{ ...engine, type: "c", breaker: "open" as const, last_failure: "the process exited with status 1" },
		{ ...engine, type: "d", refused_realms: 2, last_failure: "the process exited with status 3" },
	];
	const checks = checkEngines({ ...QUIET, host: { state } });
	assert.deepEqual(
		checks.map(({ name }) => name),
		["b", "c", "d"],
	);
	assert.match(
		found(checks),
		/^failed: .*: plugin\.json has no sha256.*\nfailed: .* status 1\nwarning: .* 2 realms .* status 3$/,
	);
	assert.match(found(checkEngines(QUIET)), /^ok/);
});

test("late leases and unhealthy targets are reported", () => {
	const look = (overdue: number, stuck: number) =>
		found(checkLeases({ ...QUIET, reaper: { ...QUIET.reaper, lateness: () => ({ overdue, stuck }) } }));
	assert.match(look(0, 0), /^ok/);
	assert.match(look(3, 0), /^warning: 3 .*\boverdue$/);
	assert.match(look(3, 2), /^failed: 2 /);
	const targets = () => [
		{ target: "keyvalue:1", state: "away" as const, since: "then", message: "it does not answer" },
		{ target: "keyvalue:2", state: "healthy" as const, since: "then", message: "" },
	];
	const checks = checkLeases({ ...QUIET, reaper: { ...QUIET.reaper, targets } });
	assert.match(found(checks), /^warning: keyvalue:1 is away .*\bthen: it does not answer$/);
});

test("what fails or throws while it is looked at is one failed check, and its text is not shown", async (t) => {
	const needs = { ...(await settings(t, NOW)), ...QUIET };
	await mkdir(join(needs.config.data_dir, "empty"));
	const secret = Object.assign(new Error("hunter2"), { code: "EIO" });
	const checks = await examine(
		{
			...needs,
			data_dir: join(needs.config.data_dir, "empty"),
			store: { audit: { append: async () => undefined } },
			keyring: { checkpoint: () => assert.fail() },
			checkDataDirectory: () => {
				throw secret;
			},
			newestBackupAt: () => undefined,
			durability: () => Promise.reject(secret),
			limits: createLimits(),
			findings: createFindings(),
			oneAtATime: createSemaphore(1).run,
			openDatabase: () => {
				throw secret;
			},
			askTargets: async () => [() => Promise.reject(secret)],
			checkFormerRealms: async () => [],
			checkMappings: async () => [],
			checkPasskeys: async () => [],
		} as never,
		anActor({ instance_admin: true }),
		false,
	);
	const failed = checks.filter(({ status }) => status === "failed");
	assert.deepEqual(
		failed.map(({ name, message }) => [name, message]),
		["files", "database", "durability", "rows", "audit", "engines"].map((name) => [name, "the check failed (EIO)"]),
	);
	assert.ok(!JSON.stringify(checks).includes("hunter2"));
});
