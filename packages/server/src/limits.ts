/** A bound of this process, and how much of it is in use. Everybody may read it: it names no realm, account or address. */
export interface Limit {
	/** Such as `connections_per_source`, as answers, metrics and `svc doctor` call it. */
	name: string;
	max: number;
	/** Tells how much is in use now; of a bound that holds for each source, account or realm, how much the fullest uses. */
	used(): number | Promise<number>;
	/** Tells how often it refused since the start. */
	refused?(): number;
	/** Names those who are nearest to a bound of each realm or account, for the instance admin alone. */
	nearest?(): Promise<{ name: string; used: number; max: number }[]>;
	/** Advises the instance admin what to do when it is nearly reached. */
	hint: string;
}

/** The limits of this process. Whoever keeps one adds it; metrics and doctor show them. */
export interface Limits {
	add(limit: Limit): void;
	all(): readonly Limit[];
	/** Counts a refusal by a limit that keeps no count of its own. */
	refuse(name: string): void;
	/** How often that was counted. */
	refusals(name: string): number;
}

/** Makes the list of limits. Design: §13 */
export function createLimits(): Limits {
	const limits: Limit[] = [];
	const refused = new Map<string, number>();
	const refusals = (name: string) => refused.get(name) ?? 0;
	return {
		add: (limit) => void limits.push(limit),
		all: () => limits,
		refuse: (name) => void refused.set(name, refusals(name) + 1),
		refusals,
	};
}

/** The bound of those who fill a disk that is low. Design: §13 */
export function lowDiskLimit(store: { eventsOnLowDisk(): { most: number; refused: number } }): Limit {
	return {
		name: "low_disk_events_per_second",
		max: 20,
		used: () => store.eventsOnLowDisk().most,
		refused: () => store.eventsOnLowDisk().refused,
		hint: "free space on the disk of the data directory, or move that to a larger one",
	};
}
