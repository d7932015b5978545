import { type RefusalNeeds, requireInstanceAdmin } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { System } from "../system.ts";
import { checkDatabase, checkLog, checkRights, checkRows, type PageNeeds } from "./database.ts";
import { checkDurability, type DurabilityNeeds } from "./durability.ts";
import type { Findings } from "./findings.ts";
import { checkClock, checkEngines, checkLeases, type LeaseNeeds } from "./leases.ts";
import { checkLimits, type LimitNeeds } from "./limits.ts";
import { checkBackups, checkDisk, checkFiles, type MachineNeeds } from "./machine.ts";
import type { Check } from "./model.ts";
import { checkSealed, type SealedNeeds } from "./sealed.ts";
import { checkBaseUrl, checkCertificate, checkMasterKey, checkRegistration, type SettingNeeds } from "./settings.ts";

/** Dependencies of the doctor. */
export interface DoctorNeeds
	extends RefusalNeeds,
		PageNeeds,
		DurabilityNeeds,
		SealedNeeds,
		LeaseNeeds,
		LimitNeeds,
		MachineNeeds,
		SettingNeeds {
	system: Pick<System, "now">;
	/** Remembers what was found. */
	findings: Findings;
	/** Asks every configured engine and its target whether they work, and for the rights that it needs there. */
	askTargets(): Promise<(() => Promise<Check[]>)[]>;
	/** Reports engines that keep serving their former realms because nobody has named any yet. */
	checkFormerRealms(): Promise<Check[]>;
	/** Reports roles of single sign-on that grant nothing, because nobody can tell their realm. */
	checkMappings(): Promise<Check[]>;
	/** Reports passkeys that are for another host than the server has. */
	checkPasskeys(): Promise<Check[]>;
}

/**
 * Milliseconds for each check, since a person waits for the answer. `deep` reads the whole database, however large it is.
 * An engine may have to start, and has 35 s for each of its answers. Design: §8
 */
const LIMIT_MS = 20_000;
const ENGINE_LIMIT_MS = 45_000;
const DEEP_LIMIT_MS = 30 * 60_000;

/** A check. @param signal aborts when its time is over */
type RunCheck = (signal: AbortSignal) => Check[] | Promise<Check[]>;

/**
 * Examines everything: the machine, the settings, the database, the log, the engines and what they need at their targets.
 * Changes nothing. A check that does not answer in time is reported and delays no other.
 * @param deep reads the whole database and the whole log, however long that takes
 * @throws AppError forbidden, insufficient_scope
 */
export async function examine(needs: DoctorNeeds, actor: Actor, deep: boolean): Promise<Check[]> {
	await requireInstanceAdmin(needs, actor, "read");
	const patience_ms = deep ? DEEP_LIMIT_MS : LIMIT_MS;
	const checks: [name: string, limit_ms: number, run: RunCheck][] = [
		["clock", LIMIT_MS, () => checkClock(needs)],
		["certificate", LIMIT_MS, () => checkCertificate(needs)],
		["base_url", LIMIT_MS, () => checkBaseUrl(needs)],
		["registration", LIMIT_MS, () => checkRegistration(needs)],
		["master_key", LIMIT_MS, () => checkMasterKey(needs)],
		["files", LIMIT_MS, () => checkFiles(needs)],
		["disk", LIMIT_MS, () => checkDisk(needs)],
		["database", patience_ms, (signal) => checkDatabase(needs, deep, signal)],
		["durability", LIMIT_MS, () => checkDurability(needs)],
		["rows", patience_ms, (signal) => checkRows(needs, signal)],
		["audit", patience_ms, (signal) => checkLog(needs, signal)],
		["rights", patience_ms, (signal) => (deep ? checkRights(needs, signal) : [])],
		["sealed", patience_ms, (signal) => (deep ? checkSealed(needs, signal) : [])],
		["backup", LIMIT_MS, () => checkBackups(needs)],
		["limits", LIMIT_MS, () => checkLimits(needs)],
		["leases", LIMIT_MS, () => checkLeases(needs)],
		["engines", LIMIT_MS, () => checkEngines(needs)],
		["engines", LIMIT_MS, () => needs.checkFormerRealms()],
		["sso", LIMIT_MS, () => needs.checkMappings()],
		["passkeys", LIMIT_MS, () => needs.checkPasskeys()],
	];
	const targets = (await needs.askTargets()).map((ask) => within("engines", ENGINE_LIMIT_MS, ask));
	const found = await Promise.all([...checks.map(([name, limit_ms, run]) => within(name, limit_ms, run)), ...targets]);
	const all = found.flat();
	needs.findings.note({ at: needs.system.now().toISOString(), checks: all });
	return all;
}

async function within(name: string, limit_ms: number, run: RunCheck): Promise<Check[]> {
	const signal = AbortSignal.timeout(limit_ms);
	const late = Promise.withResolvers<Check[]>();
	signal.addEventListener("abort", () => late.resolve([tooSlow(name, limit_ms)]), { once: true });
	try {
		return await Promise.race([run(signal), late.promise]);
	} catch (error) {
		// Its text may contain anything.
		const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
		const message = `the check failed (${code})`;
		return [{ name, status: "failed", message, hint: "see the server's log" }];
	}
}

function tooSlow(name: string, limit_ms: number): Check {
	const message = `the check did not finish within ${limit_ms / 1000} seconds`;
	return { name, status: "warning", message, hint: "`svc doctor --deep` waits longer for the database and the log" };
}
