import { type AccessNeeds, authorize } from "../policy/authorize.ts";
import type { Actor } from "../policy/model.ts";
import type { QuestionNeeds } from "../semaphore.ts";
import type { System } from "../system.ts";
import type { DayCounts, DayRange } from "./event-query.ts";
import type { AuditStore } from "./model.ts";

/** Days that are counted, today included. */
export const DAYS = 30;

/** Most events of a key that are looked at: some 50 ms. */
const MOST_READS = 10_000;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Dependencies of counting by day. */
export interface DayNeeds extends QuestionNeeds {
	store: AccessNeeds["store"] & { audit: Pick<AuditStore, "perDay" | "readsPerDay"> };
	system: Pick<System, "now">;
}

/** A day, such as `2030-01-31`, and what was counted. */
export type Day<Counts> = Counts & { day: string };

/** Counts a realm's events and denials on each of the last days. @throws AppError not_found, forbidden, insufficient_scope */
export async function eventsPerDay(needs: DayNeeds, actor: Actor, slug: string): Promise<Day<DayCounts>[]> {
	const realm = await authorize(needs, actor, slug, { capability: "audit:read" });
	const range = lastDays(needs.system.now());
	const counts = await needs.long_questions.run(() => needs.store.audit.perDay(realm.id, range), actor);
	return counts.map((count, at) => ({ day: dayOf(range.starts[at]), ...count }));
}

/**
 * Counts the reads of a secret on each of the last days, bulk reads with values included. Of a key with more than 10,000 events it counts the last days
 * that have no more.
 * @throws AppError not_found, forbidden, insufficient_scope
 */
export async function readsPerDay(
	needs: DayNeeds,
	actor: Actor,
	{ slug, key, environment }: { slug: string; key: string; environment: string },
): Promise<{ days: Day<{ reads: number }>[]; isCut: boolean }> {
	const { id: realm_id } = await authorize(needs, actor, slug, { capability: "audit:read" });
	const range = lastDays(needs.system.now());
	const name = { member_id: actor.user_id, realm_id, realm: slug, key, environment };
	const ask = () => needs.store.audit.readsPerDay(name, range, MOST_READS);
	const { reads, isCut } = await needs.long_questions.run(ask, actor);
	const starts = range.starts.slice(DAYS - reads.length);
	return { days: reads.map((count, at) => ({ day: dayOf(starts[at]), reads: count })), isCut };
}

/** Makes the last days of UTC up to an instant. */
function lastDays(now: Date): DayRange {
	const today_ms = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
	const start = (ago: number) => new Date(today_ms - ago * DAY_MS).toISOString();
	return { starts: Array.from({ length: DAYS }, (_, at) => start(DAYS - 1 - at)), end: start(-1) };
}

const dayOf = (start = "") => start.slice(0, 10);
