import type { AuditEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { type CallerKeys, partOf } from "../fair-queue.ts";
import type { Operation } from "../operation.ts";
import { sourceGroup } from "../source.ts";

/** Free share of the disk below which growth is slowed down. Design: §13. */
export const LOW_SHARE = 0.15;

/** Events that an account, or a source without a signed-in user, may cause in a second while the disk is low. Design: §13. */
const EVENTS_PER_SECOND = 20;
const SECOND_MS = 1000;

/** Maximum number of accounts and sources counted at a time. */
export const MAX_COUNTED = 10_000;

/** Events of an account, source, machine, or realm with machines. */
export interface Caused {
	/** Moments at which it caused them, in milliseconds, of the last second and later. */
	times: readonly number[];
	/** Number of events of an account that one of its own counts for. */
	scale: number;
}

/**
 * Counts events that are about to be written.
 * @param find returns what a caller has caused before
 * @returns what each caller has caused now; undefined when these are too many
 */
export function countEvents(
	cause: NonNullable<AuditEvent["cause"]>,
	count: number,
	now: number,
	find: (name: string) => Caused | undefined,
): Map<string, Caused> | undefined {
	const keys = causersOf(cause);
	const times = keys.map((key) => since(find(key)?.times ?? [], now));
	const [all = 0, ...inner] = times.map((of) => inLast(of, now));
	const mostOf = (own: number, depth: number) => partOf(EVENTS_PER_SECOND, keys, depth, all - own);
	if ([all, ...inner].some((own, depth) => own > 0 && own + count > mostOf(own, depth))) return undefined;
	// Events beyond one second's share use up the seconds that follow.
	const share = Math.max(1, Math.floor(partOf(EVENTS_PER_SECOND, keys, keys.length - 1, 0)));
	const later = Array.from({ length: count }, (_, index) => now + Math.floor(index / share) * SECOND_MS);
	return new Map(
		keys.map((key, depth) => {
			const scale = EVENTS_PER_SECOND / partOf(EVENTS_PER_SECOND, keys, depth, 0);
			return [key, { times: [...(times[depth] ?? []), ...later], scale }];
		}),
	);
}

/** Names those that events count for. */
export function causersOf([first, ...inner]: NonNullable<AuditEvent["cause"]>): CallerKeys {
	return [sourceGroup(first), ...inner];
}

/** Finds the highest number of events in the last second, scaled where a machine is nearer to its part. */
export function mostIn(caused: Iterable<Caused>, now: number): number {
	let most = 0;
	for (const { times, scale } of caused) most = Math.max(most, Math.round(inLast(since(times, now), now) * scale));
	return most;
}

const since = (times: readonly number[], now: number) => times.filter((time) => now - time < SECOND_MS);
const inLast = (times: readonly number[], now: number) => times.filter((time) => time <= now).length;

/** An event that is about to be written, and how many of its like. */
export interface Counted {
	event: AuditEvent | undefined;
	count: number;
}

/** Finds what counts of a change. One that counts no events, such as one that ends a credential, has none. */
export function eventsOf(declared: Operation | undefined, args: readonly unknown[]): Counted {
	const events = declared?.kind === "write" ? declared.events : 1;
	const count = Array.isArray(args[0]) ? args[0].length : events;
	return { event: events === 0 ? undefined : args.find(isEvent), count };
}

function isEvent(arg: unknown): arg is AuditEvent {
	return typeof arg === "object" && arg !== null && "timestamp" in arg && "actor" in arg && "type" in arg;
}

/** Makes the refusal of a caller that fills a low disk. @param reason says what is low */
export function tooManyEvents(reason: string): AppError {
	return new AppError(
		"rate_limited",
		`${reason}, so each account or address is limited to ${EVENTS_PER_SECOND} events a second (low_disk_events_per_second): try again in a second`,
		{ headers: { "retry-after": "1" } },
	);
}
