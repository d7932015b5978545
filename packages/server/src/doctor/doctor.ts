import { type RefusalNeeds, requireInstanceAdmin } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import { type DatabaseNeeds, lookAtDatabase, lookAtLog } from "./database.ts";
import { type LeaseNeeds, lookAtClock, lookAtEngines, lookAtLeases } from "./leases.ts";
import { type LimitNeeds, lookAtLimits } from "./limits.ts";
import { lookAtBackups, lookAtDisk, lookAtFiles, type MachineNeeds } from "./machine.ts";
import type { Check } from "./model.ts";
import { lookAtCertificate, lookAtMasterKey, lookAtRegistration, type SettingNeeds } from "./settings.ts";

/** Dependencies of the doctor. */
export interface DoctorNeeds extends RefusalNeeds, DatabaseNeeds, LeaseNeeds, LimitNeeds, MachineNeeds, SettingNeeds {
	/** Asks every configured engine and its target whether they work, and for the rights that it needs there. */
	askTargets(): Promise<(() => Promise<Check[]>)[]>;
	/** Reports engines that keep serving their former realms because nobody has named any yet. */
	lookAtFormer(): Promise<Check[]>;
}

/**
 * Milliseconds for each check, since a person waits for the answer. `deep` reads the whole database, however large it is.
 * An engine may have to start, and has 35 s for each of its answers. Design: §8
 */
const LIMIT_MS = 20_000;
const ENGINE_LIMIT_MS = 45_000;
const DEEP_LIMIT_MS = 30 * 60_000;

/** A check. @param signal aborts when its time is over */
type Look = (signal: AbortSignal) => Check[] | Promise<Check[]>;

/**
 * Examines everything: the machine, the settings, the database, the log, the engines and what they need at their targets.
 * Changes nothing. A check that does not answer in time is reported and delays no other.
 * @param deep reads the whole database and the whole log, however long that takes
 * @throws AppError forbidden, insufficient_scope
 */
export async function examine(needs: DoctorNeeds, actor: Actor, deep: boolean): Promise<Check[]> {
	await requireInstanceAdmin(needs, actor, "read");
	const patience_ms = deep ? DEEP_LIMIT_MS : LIMIT_MS;
	const looks: [name: string, limit_ms: number, look: Look][] = [
		["clock", LIMIT_MS, () => lookAtClock(needs)],
		["certificate", LIMIT_MS, () => lookAtCertificate(needs)],
		["registration", LIMIT_MS, () => lookAtRegistration(needs)],
		["master_key", LIMIT_MS, () => lookAtMasterKey(needs)],
		["files", LIMIT_MS, () => lookAtFiles(needs)],
		["disk", LIMIT_MS, () => lookAtDisk(needs)],
		["database", patience_ms, (signal) => lookAtDatabase(needs, deep, signal)],
		["audit", patience_ms, (signal) => lookAtLog(needs, signal)],
		["backup", LIMIT_MS, () => lookAtBackups(needs)],
		["limits", LIMIT_MS, () => lookAtLimits(needs)],
		["leases", LIMIT_MS, () => lookAtLeases(needs)],
		["engines", LIMIT_MS, () => lookAtEngines(needs)],
		["engines", LIMIT_MS, () => needs.lookAtFormer()],
	];
	const targets = (await needs.askTargets()).map((ask) => within("engines", ENGINE_LIMIT_MS, ask));
	const found = await Promise.all([...looks.map(([name, limit_ms, look]) => within(name, limit_ms, look)), ...targets]);
	return found.flat();
}

async function within(name: string, limit_ms: number, look: Look): Promise<Check[]> {
	const signal = AbortSignal.timeout(limit_ms);
	const late = Promise.withResolvers<Check[]>();
	signal.addEventListener("abort", () => late.resolve([tooSlow(name, limit_ms)]), { once: true });
	try {
		return await Promise.race([look(signal), late.promise]);
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
