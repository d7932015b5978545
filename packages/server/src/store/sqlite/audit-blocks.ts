import { hash } from "node:crypto";
import type { Database } from "better-sqlite3";
import type { StoredEvent } from "../../audit/model.ts";
import { factsIn } from "../../audit/stored-json.ts";
import { createCache } from "../../cache.ts";

/** Events in a block: their offsets fit into a byte each. */
export const BLOCK = 256;

/** Fields of an event that its terms are made of. */
export type Termed = Pick<StoredEvent, "type" | "actor" | "realm_id" | "realm" | "data">;

/** Terms by which events are found. */
export const TERM = {
	type: (type: string) => `type ${type}`,
	token: (id: string) => `token ${id}`,
	/** @param realm the slug that the realm had then */
	key: (realm: string, key: string) => `key ${realm}/${key}`,
	keySet: (hash: string) => `set ${hash}`,
	actor: (actor: string) => `actor ${actor}`,
	/** @param id empty for events outside realms */
	realm: (id: string) => `realm ${id}`,
	/** Denials in a realm. */
	denied: (realm_id: string) => `denied ${realm_id}`,
	/** @param environment empty for a list of all environments */
	environment: (environment: string) => `environment ${environment}`,
};

/** Facts that name an environment: a comparison and a promotion name two. */
const ENVIRONMENTS = ["environment", "from_environment", "to_environment"];

/** Names the terms by which an event is found. */
export function termsOf({ type, actor, realm_id, realm, data }: Termed): string[] {
	const facts = factsIn(data) ?? {};
	const { token_id, key, key_set } = facts;
	const terms = [TERM.type(type), TERM.actor(actor), TERM.realm(realm_id)];
	if (type === "access.denied") terms.push(TERM.denied(realm_id));
	for (const name of ENVIRONMENTS) {
		const environment = facts[name];
		if (typeof environment === "string") terms.push(TERM.environment(environment));
	}
	if (typeof token_id === "string") terms.push(TERM.token(token_id));
	if (typeof key === "string") terms.push(TERM.key(realm, key));
	if (typeof key_set === "string") terms.push(TERM.keySet(key_set));
	return terms;
}

/** Tells whether a term is of a key. */
export const isOfKey = (term: string) => term.startsWith("key ");

/** Bytes of a key's hash in an entry, before the offset of an event. */
const HASH = 6;

/** Bytes of an offset in a block, and in a segment. */
export const OFFSET = { block: 1, segment: 2 };

/** Hashes the term of a key to `HASH` bytes. Other keys may have the same hash. */
const bytesOf = (term: string) => hash("sha256", term, "buffer").subarray(0, HASH);

/** Returns the same hash as a number. */
export const keyHash = (term: string) => bytesOf(term).readUIntBE(0, HASH);

/** Hashes of keys' terms that are remembered. */
const MAX_KNOWN = 1024;

/** Makes the function that hashes terms and remembers some: the events of a block often name the same keys. */
function remembered(): (term: string) => Buffer {
	const known = createCache<string, Buffer>(MAX_KNOWN);
	return (term) => {
		const found = known.get(term);
		if (found !== undefined) return found;
		const made = Buffer.from(bytesOf(term));
		known.set(term, made);
		return made;
	};
}

/** Finds the offsets in the entries of any of these hashes. @param width bytes of an offset */
export function offsetsOfKeys(entries: Buffer, width: number, hashes: ReadonlySet<number>): number[] {
	const found: number[] = [];
	// Another program may have left half an entry.
	for (let at = 0; at + HASH + width <= entries.length; at += HASH + width)
		if (hashes.has(entries.readUIntBE(at, HASH))) found.push(entries.readUIntBE(at + HASH, width));
	return found;
}

/** Blocks in a segment, and the parts into which its keys are divided by the first six bits of their hashes. */
export const SEGMENT = 64;

/** Returns the first block of a block's segment. */
export const segmentOf = (block: number) => block - (block % SEGMENT);

const PARTS = 64;

/** Returns the part of a hash. @param first its first byte */
const partOf = (first: number) => first >> 2;

const nameOfPart = (part: number) => `keys ${part}`;

/** Names the term of a segment's keys with hashes that begin like this one. */
export const partTerm = (hash: number) => nameOfPart(Math.floor(hash / 2 ** 42));

/** Makes the function that divides the keys of a segment, which its blocks have, into parts. @param first its first block */
export function segmentMaker(db: Database): (first: number) => Map<string, Buffer> {
	const blocks = db.prepare("SELECT block, keys FROM main.audit_block WHERE block >= ? AND block < ? ORDER BY block");
	return (first) => {
		const found = blocks.all(first, first + SEGMENT) as { block: number; keys: Buffer }[];
		const parts = partsFor(found.map(({ keys }) => keys));
		for (const { block, keys } of found)
			for (let at = 0; at + HASH < keys.length; at += HASH + OFFSET.block) {
				const part = parts[partOf(keys.readUInt8(at))] as Part;
				keys.copy(part.entries, part.end, at, at + HASH);
				const offset = (block - first) * BLOCK + keys.readUInt8(at + HASH);
				part.end = part.entries.writeUIntBE(offset, part.end + HASH, OFFSET.segment);
			}
		const filled = parts.map(({ entries }, index): [string, Buffer] => [nameOfPart(index), entries]);
		return new Map(filled.filter(([, { length }]) => length > 0));
	};
}

/** Entries of a part, and where the next one goes. */
interface Part {
	entries: Buffer;
	end: number;
}

/** Makes room for the entries of each part: a Buffer for each entry would take ten times as long. @param blocks the keys of each block */
function partsFor(blocks: readonly Buffer[]): Part[] {
	const counts = new Uint32Array(PARTS);
	for (const keys of blocks)
		for (let at = 0; at + HASH < keys.length; at += HASH + OFFSET.block) {
			const part = partOf(keys.readUInt8(at));
			counts[part] = (counts[part] ?? 0) + 1;
		}
	return Array.from(counts, (count) => ({ entries: Buffer.allocUnsafe(count * (HASH + OFFSET.segment)), end: 0 }));
}

const EVENTS_OF =
	"SELECT seq, timestamp, type, actor, realm_id, realm, data FROM main.audit_event WHERE seq >= ? AND seq < ? ORDER BY seq";

/** A block as it is stored. */
interface Block {
	/** The earliest time of its events, ISO 8601 UTC. */
	earliest: string;
	/** The latest time of its events and of all before them, ISO 8601 UTC. */
	latest: string;
	/** Offsets of the events of each term, but keys, from the block's first number, ascending. */
	offsets: Map<string, Buffer>;
	/** An entry for each event that names a key, in order. */
	keys: Buffer;
}

/** Makes the function that makes a block from its events. @param before the latest time before the block */
export function blockMaker(db: Database): (block: number, before: string) => Block {
	const events = db.prepare(EVENTS_OF);
	const hashOf = remembered();
	return (block, before) => {
		let [earliest, latest, end] = ["", before, 0];
		const offsets = new Map<string, number[]>();
		const first = block * BLOCK;
		const found = events.all(first, first + BLOCK) as (Termed & { seq: number; timestamp: string })[];
		const keys = Buffer.alloc(found.length * (HASH + OFFSET.block));
		for (const event of found) {
			const { seq, timestamp } = event;
			if (earliest === "" || timestamp < earliest) earliest = timestamp;
			if (timestamp > latest) latest = timestamp;
			for (const term of termsOf(event)) {
				if (isOfKey(term)) {
					end += hashOf(term).copy(keys, end);
					end = keys.writeUInt8(seq - first, end);
					continue;
				}
				const own = offsets.get(term);
				if (own === undefined) offsets.set(term, [seq - first]);
				else if (own.at(-1) !== seq - first) own.push(seq - first);
			}
		}
		return {
			earliest,
			latest,
			offsets: new Map(Array.from(offsets, ([term, own]) => [term, Buffer.from(own)])),
			keys: keys.subarray(0, end),
		};
	};
}

/** Facts of a block by which the next one is made. */
type StoredBlock = Pick<Block, "latest"> & { block: number };

const NEWEST = "SELECT block, latest FROM main.audit_block ORDER BY block DESC LIMIT 1";

/** Maximum number of blocks added in one transaction: those of a log from before blocks take 1 ms each. */
const MOST_AT_ONCE = 16;

/** Writer of blocks. */
export interface BlockWriter {
	/** Number of the event that completes the next block; one that is too high after a rollback delays that block. */
	readonly due: number;
	/** Stores blocks that are complete, in the running transaction. @param newest the number of the newest event, `due` or higher */
	add(newest: number): void;
}

/** Makes the writer of blocks. */
export function blockWriter(db: Database): BlockWriter {
	const make = blockMaker(db);
	const divide = segmentMaker(db);
	const newestBlock = db.prepare(NEWEST);
	const nextEvent = db.prepare("SELECT min(seq) FROM main.audit_event WHERE seq >= ?").pluck();
	const addBlock = db.prepare("INSERT INTO main.audit_block (block, earliest, latest, keys) VALUES (?, ?, ?, ?)");
	// Another program may have left postings of a block that is not there.
	const addPosting = db.prepare("INSERT OR REPLACE INTO main.audit_posting (term, block, offsets) VALUES (?, ?, ?)");
	const addAll = (block: number, offsets: Iterable<[term: string, offsets: Buffer]>) => {
		for (const [term, own] of offsets) addPosting.run(term, block, own);
	};
	const writer = {
		due: 0,
		add(newest: number) {
			let last = (newestBlock.get() as StoredBlock | undefined) ?? { block: -1, latest: "" };
			for (let added = 0; added < MOST_AT_ONCE && lastOf(last.block + 1) <= newest; added++) {
				// Another program may have left a gap that no loop gets through.
				const block = Math.floor((nextEvent.get((last.block + 1) * BLOCK) as number) / BLOCK);
				if (lastOf(block) > newest) break;
				const segment = segmentOf(last.block);
				if (segmentOf(block) > segment) addAll(segment, divide(segment));
				const { earliest, latest, offsets, keys } = make(block, last.latest);
				addBlock.run(block, earliest, latest, keys);
				addAll(block, offsets);
				last = { block, latest };
			}
			writer.due = lastOf(last.block + 1);
		},
	};
	return writer;
}

/** Stores the blocks of a whole log. */
export function addAllBlocks(db: Database): void {
	const newest = db.prepare("SELECT coalesce(max(seq), 0) FROM main.audit_event").pluck().get() as number;
	for (const writer = blockWriter(db); writer.due <= newest; ) writer.add(newest);
}

/** Returns the number of a block's last event. */
const lastOf = (block: number) => block * BLOCK + BLOCK - 1;
