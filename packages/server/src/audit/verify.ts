import { eventHash, GENESIS } from "./chain.ts";
import type { Anchor, ChainReport, StoredEvent } from "./model.ts";
import { factsIn } from "./stored-json.ts";

/** Recomputes a chain, one event after another. */
export interface Verification {
	/**
	 * Takes the next event.
	 * @param isNamed false if the keys that it refers to are not those that it named
	 * @returns false when it is not what was hashed: no event after it counts
	 */
	take(event: StoredEvent, isNamed?: boolean): boolean;
	/** Says how the chain compares with the anchors, after its last event. */
	report(): ChainReport;
}

/**
 * Begins to recompute a chain: numbers without gaps, every hash from its fields and the one before, and every anchor at its event. An anchor before the
 * first event never matches.
 */
export function beginVerification(anchors: readonly Anchor[]): Verification {
	const expected = Map.groupBy(anchors, (anchor) => anchor.seq);
	let last: { seq: number; hash: Buffer } = { seq: 0, hash: GENESIS };
	let isAltered = false;
	return {
		take(event, isNamed = true) {
			const seq = last.seq + 1;
			// Only texts have a hash.
			const hash = areTexts(event) ? eventHash(last.hash, { ...event, seq }) : GENESIS;
			const isAnchored = (expected.get(seq) ?? []).every((anchor) => isHash(hash, anchor.hash));
			const isAsWritten = areTexts(event) && event.seq === seq && isHash(hash, event.hash);
			isAltered ||= !isAsWritten || !isAnchored || !isNamed;
			if (!isAltered) last = { seq, hash };
			return !isAltered;
		},
		report() {
			if (isAltered) return { status: "altered", events: last.seq, seq: last.seq + 1, last };
			const isBeyond = anchors.some((anchor) => anchor.seq > last.seq);
			if (isBeyond) return { status: "truncated", events: last.seq, seq: last.seq + 1, last };
			return { status: "intact", events: last.seq, seq: undefined, last };
		},
	};
}

/** Tells whether the fields are texts: bytes with the same hash, which another program may have put in their place, are found by no question. */
function areTexts({ timestamp, type, actor, realm_id, realm, data }: StoredEvent): boolean {
	return [timestamp, type, actor, realm_id, realm, data].every((field: unknown) => typeof field === "string");
}

/** Tells whether a stored value, of whatever type, is a hash. */
function isHash(hash: Buffer, stored: unknown): boolean {
	return Buffer.isBuffer(stored) && hash.equals(stored);
}

/**
 * Recomputes the chain from its first event.
 * @param events in order of the chain
 * @param isNamed tells whether the keys that an event refers to are those that it named
 */
export function verifyChain(
	events: Iterable<StoredEvent>,
	anchors: readonly Anchor[],
	isNamed: (event: StoredEvent) => boolean = () => true,
): ChainReport {
	const verification = beginVerification(anchors);
	for (const event of events) if (!verification.take(event, isNamed(event))) break;
	return verification.report();
}

const KEY_SET = '"key_set":"';

/** Finds the set of keys that an event refers to; undefined also for one that another program stored without facts. */
export function keySetIn({ data }: { data: unknown }): string | undefined {
	if (typeof data !== "string" || !data.includes(KEY_SET)) return undefined;
	const key_set = factsIn(data)?.key_set;
	return typeof key_set === "string" ? key_set : undefined;
}
