import type { Database } from "better-sqlite3";
import type { StoredEvent } from "../../audit/model.ts";

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
	const facts = factsIn(data);
	const { token_id, key, key_set } = facts;
	const environments = ENVIRONMENTS.map((name) => facts[name]).filter((fact) => typeof fact === "string");
	return [
		TERM.type(type),
		TERM.actor(actor),
		TERM.realm(realm_id),
		...(type === "access.denied" ? [TERM.denied(realm_id)] : []),
		...environments.map(TERM.environment),
		...(typeof token_id === "string" ? [TERM.token(token_id)] : []),
		...(typeof key === "string" ? [TERM.key(realm, key)] : []),
		...(typeof key_set === "string" ? [TERM.keySet(key_set)] : []),
	];
}

/** Reads an event's facts. Another program may have stored none. */
function factsIn(data: string): Record<string, unknown> {
	try {
		return (JSON.parse(data) as Record<string, unknown> | null) ?? {};
	} catch {
		return {};
	}
}

const EVENTS_OF =
	"SELECT seq, timestamp, type, actor, realm_id, realm, data FROM main.audit_event WHERE seq >= ? AND seq < ? ORDER BY seq";

/** A block as it is stored. */
interface Block {
	/** The earliest time of its events, ISO 8601 UTC. */
	earliest: string;
	/** The latest time of its events and of all before them, ISO 8601 UTC. */
	latest: string;
	/** Offsets of each term's events from the block's first number, ascending. */
	offsets: Map<string, number[]>;
}

/** Makes the function that makes a block from its events. @param before the latest time before the block */
function blockMaker(db: Database): (block: number, before: string) => Block {
	const events = db.prepare(EVENTS_OF);
	return (block, before) => {
		const made: Block = { earliest: "", latest: before, offsets: new Map() };
		const first = block * BLOCK;
		const found = events.all(first, first + BLOCK) as (Termed & { seq: number; timestamp: string })[];
		for (const { seq, timestamp, ...termed } of found) {
			if (made.earliest === "" || timestamp < made.earliest) made.earliest = timestamp;
			if (timestamp > made.latest) made.latest = timestamp;
			for (const term of termsOf(termed)) {
				const offsets = made.offsets.get(term);
				if (offsets === undefined) made.offsets.set(term, [seq - first]);
				else if (offsets.at(-1) !== seq - first) offsets.push(seq - first);
			}
		}
		return made;
	};
}

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
	const newestBlock = db.prepare(NEWEST);
	const nextEvent = db.prepare("SELECT min(seq) FROM main.audit_event WHERE seq >= ?").pluck();
	const addBlock = db.prepare("INSERT INTO main.audit_block (block, earliest, latest) VALUES (?, ?, ?)");
	// Another program may have left postings of a block that is not there.
	const addPosting = db.prepare("INSERT OR REPLACE INTO main.audit_posting (term, block, offsets) VALUES (?, ?, ?)");
	const writer = {
		due: 0,
		add(newest: number) {
			const last = newestBlock.get() as { block: number; latest: string } | undefined;
			let latest = last?.latest ?? "";
			let block = (last?.block ?? -1) + 1;
			for (let added = 0; added < MOST_AT_ONCE && lastOf(block) <= newest; added++, block++) {
				// Another program may have left a gap that no loop gets through.
				block = Math.floor((nextEvent.get(block * BLOCK) as number) / BLOCK);
				if (lastOf(block) > newest) break;
				const made = make(block, latest);
				latest = made.latest;
				addBlock.run(block, made.earliest, latest);
				for (const [term, offsets] of made.offsets) addPosting.run(term, block, Buffer.from(offsets));
			}
			writer.due = lastOf(block);
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

/** Tells whether the stored blocks are those of the events. A database from before blocks has none. */
export function areBlocksSound(db: Database): boolean {
	if (db.prepare("SELECT 1 FROM main.sqlite_schema WHERE name = 'audit_posting'").get() === undefined) return true;
	const make = blockMaker(db);
	const posting = db.prepare("SELECT offsets FROM main.audit_posting WHERE term = ? AND block = ?").pluck();
	let latest = "";
	let postings = 0;
	for (const stored of db.prepare("SELECT block, earliest, latest FROM main.audit_block ORDER BY block").iterate()) {
		const { block, ...known } = stored as { block: number; earliest: string; latest: string };
		const made = make(block, latest);
		latest = made.latest;
		if (known.earliest !== made.earliest || known.latest !== latest) return false;
		for (const [term, offsets] of made.offsets) {
			const found = posting.get(term, block) as Buffer | undefined;
			if (found === undefined || !found.equals(Buffer.from(offsets))) return false;
		}
		postings += made.offsets.size;
	}
	return areAllThere(db) && db.prepare("SELECT count(*) FROM main.audit_posting").pluck().get() === postings;
}

/** Tells whether each event up to the newest block is in a block, and each block has events. */
function areAllThere(db: Database): boolean {
	const missing = `SELECT 1 FROM (SELECT DISTINCT seq / ${BLOCK} AS block FROM main.audit_event WHERE seq >= 0) AS own
		WHERE own.block < (SELECT max(block) FROM main.audit_block) AND own.block NOT IN (SELECT block FROM main.audit_block) LIMIT 1`;
	return db.prepare(missing).get() === undefined;
}
