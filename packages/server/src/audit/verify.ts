import { eventHash, GENESIS } from "./chain.ts";
import type { Anchor, ChainReport, StoredEvent } from "./model.ts";

/**
 * Recomputes the chain from its first event: numbers without gaps, every hash from its fields and the one before, and every anchor
 * at its event. An anchor before the first event never matches.
 * @param events in order of the chain
 * @param isNamed tells whether the keys that an event refers to are those that it named
 */
export function verifyChain(
	events: Iterable<StoredEvent>,
	anchors: readonly Anchor[],
	isNamed: (event: StoredEvent) => boolean = () => true,
): ChainReport {
	const expected = Map.groupBy(anchors, (anchor) => anchor.seq);
	let last: { seq: number; hash: Buffer } = { seq: 0, hash: GENESIS };
	for (const event of events) {
		const seq = last.seq + 1;
		const hash = eventHash(last.hash, { ...event, seq });
		const isAnchored = (expected.get(seq) ?? []).every((anchor) => hash.equals(anchor.hash));
		if (event.seq !== seq || !hash.equals(event.hash) || !isAnchored || !isNamed(event)) {
			return { status: "altered", events: last.seq, seq, last };
		}
		last = { seq, hash };
	}
	const beyond = anchors.map((anchor) => anchor.seq).filter((seq) => seq > last.seq);
	if (beyond.length > 0) return { status: "truncated", events: last.seq, seq: last.seq + 1, last };
	return { status: "intact", events: last.seq, seq: undefined, last };
}

/** Finds the set of keys that an event refers to. */
export function keySetIn({ data }: Pick<StoredEvent, "data">): string | undefined {
	if (!data.includes('"key_set":"')) return undefined;
	const { key_set } = JSON.parse(data) as { key_set?: unknown };
	return typeof key_set === "string" ? key_set : undefined;
}
