import { type Chain, type ChainEnd, createChain, GENESIS } from "../../audit/chain.ts";
import type { AuditEvent, StoredEvent } from "../../audit/model.ts";
import type { RowMacs } from "../../crypto/row-macs.ts";
import { CACHES, type CacheName } from "../../operation.ts";
import { system } from "../../system.ts";
import { outcomeUnknown, storeUnavailable } from "../errors.ts";
import {
	createRowLedger,
	type Marks,
	noRows,
	openTipBox,
	type RowLedger,
	type RowState,
	sealTip,
	type Tip,
} from "../row-ledger.ts";
import { CommitUnknown, type Sql } from "./connection.ts";
import type { Change } from "./database.ts";
import { INDEXED_FIELDS, indexedFieldsOf } from "./event-index.ts";
import { REPORTED } from "./findings.ts";
import { CHANGES_LOCK } from "./locks.ts";
import type { ReadPool } from "./read-pools.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";
import { createRowChanges, createRows } from "./rows.ts";
import { createMakersAccess } from "./writes/current-access.ts";

/** Whether rows get MACs: only over a database that nobody has altered, under keys. */
export interface Trust {
	macs: RowMacs;
	/** False before the keys came, and after an alteration was noticed. */
	isSound(): boolean;
	/** Notes what another program altered. */
	lose(altered: string[]): void;
	/** Notes alterations that another server has found. */
	learn(altered: readonly string[]): void;
	/** Reads the keys again if the newest tip was left by a server with newer ones. */
	keepUp(sealed: Buffer | null | undefined): Promise<void>;
}

/** The log and the rows as the running transaction has them. They are read in each transaction: another server may have made one. */
interface Running {
	chain: Chain;
	ledger: RowLedger | undefined;
	events: StoredEvent[];
	/** Caches whose answers its changes may invalidate. */
	stale: Set<CacheName>;
}

/** Makes changes, one transaction at a time. */
export interface Changes {
	/** Rows, log and statements of the running transaction, for its operations. */
	change: Change;
	/**
	 * Runs a step alone in the database; its rows, its events and the tip after them are committed together, or nothing is.
	 * @throws AppError store_unavailable when the connection was lost: the change was not made, or nobody can tell
	 */
	alone<Result>(step: () => Promise<Result>): Promise<Result>;
	/** Adds an event without a change. */
	add(event: AuditEvent): void;
	/** Ends an operation of the transaction. */
	finish(): void;
	/** Names caches whose answers the running transaction may invalidate, on all servers. */
	forget(caches: readonly CacheName[]): void;
	/** Looks the rights of all makers up again. */
	clear(): void;
}

/** Milliseconds to wait for the database after a commit without an answer. */
const SETTLE_MS = 10_000;

/** Makes the changes of a link. @param onAnswered called with the end of the log before a change is answered */
export function createChanges(
	link: ReconnectingConnection,
	trust: Trust,
	claimant: Change["claimant"],
	onAnswered: (end: ChainEnd) => void,
): Changes {
	let running: Running | undefined;
	const now = () => running ?? outside();
	const rows = createRows(link, trust.macs);
	const makers = createMakersAccess({ ...rows, sql: link }, () => markOf(now(), "access"));
	const change: Change = {
		...createRowChanges(link, rows, () => now().ledger),
		sql: link,
		ledger: () => now().ledger,
		claimant,
		append: (event, known) => now().chain.append(event, known),
		accessOf: makers.of,
	};
	return {
		change,
		async alone(step) {
			let made: { result: Awaited<ReturnType<typeof step>>; written: Written } | undefined;
			try {
				made = await link.transaction(BEGIN, async ([newest]) => {
					running = await begin(trust, newest as Newest | undefined);
					const result = await step();
					made = { result, written: await end(link, trust, running) };
					return made;
				});
			} catch (error) {
				makers.forget();
				if (!(error instanceof CommitUnknown) || made === undefined) throw error;
				if (!(await wasCommitted(link, made.written, error))) throw storeUnavailable(error);
			}
			onAnswered(made.written.end);
			return made.result;
		},
		add: ({ timestamp, type, actor, realm_id, realm, data }) =>
			now().chain.add({ timestamp, type, actor, realm_id, realm, data: JSON.stringify(data) }),
		finish: () => now().chain.finish(),
		forget(caches) {
			for (const cache of caches) now().stale.add(cache);
		},
		clear: makers.forget,
	};
}

/** Returns the mark under which remembered facts hold in a transaction; undefined when none do. */
function markOf({ ledger, stale }: Running, cache: CacheName): string | undefined {
	return stale.has(cache) ? undefined : ledger?.state().marks?.[cache];
}

function outside(): never {
	throw new Error("no transaction is running");
}

/** The newest event and the newest tip, where there are any. */
type Newest = { [Column in keyof ChainEnd]: ChainEnd[Column] | null } & { sealed: Buffer | null; reported: string[] };

const NEWEST = `SELECT seq, hash, sealed, ${REPORTED} AS reported FROM (SELECT) AS always
	LEFT JOIN (SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1) AS head ON true
	LEFT JOIN (SELECT sealed FROM tip ORDER BY id DESC LIMIT 1) AS tip ON true`;

/** Reads what other servers have changed: newer keys, and alterations that they found. @returns the marks under which remembered answers hold */
export async function keepUp(pool: Pick<ReadPool, "rows">, trust: Trust): Promise<Marks> {
	const [newest] = await pool.rows<Newest>(NEWEST);
	trust.learn(newest?.reported ?? []);
	// It needs another connection: requests that hold one would otherwise wait for it.
	await trust.keepUp(newest?.sealed);
	return marksIn(trust, newest);
}

/** Reads the marks under which the answers of a transaction hold. */
export async function readMarks(sql: Sql, trust: Trust): Promise<Marks> {
	const [newest] = await sql.rows<Newest>(NEWEST);
	return marksIn(trust, newest);
}

/** Finds the marks in the newest tip. A tip that is not that of the end of the log proves nothing. */
function marksIn(trust: Trust, newest: Newest | undefined): Marks {
	if (!trust.isSound() || newest === undefined) return {};
	const tip = newest.sealed === null ? undefined : openTipBox(newest.sealed, trust.macs);
	return isOf(tip, headOf(newest)) ? (tip.rows.marks ?? {}) : {};
}

/** Waits for the lock, then reads what its last holder left: each statement has a snapshot of its own. */
const BEGIN = `BEGIN; ${CHANGES_LOCK}; ${NEWEST}`;

async function begin(trust: Trust, newest: Newest | undefined): Promise<Running> {
	trust.learn(newest?.reported ?? []);
	await trust.keepUp(newest?.sealed);
	const head = headOf(newest);
	const events: StoredEvent[] = [];
	const chain = createChain(head, (event) => void events.push(event));
	const start = trust.isSound() ? rowState(trust, head, newest?.sealed ?? undefined) : undefined;
	return { chain, ledger: start && createRowLedger(trust.macs, start, chain.note), events, stale: new Set() };
}

function headOf(newest: Newest | undefined): ChainEnd {
	return { seq: newest?.seq ?? 0, hash: newest?.hash ?? GENESIS };
}

/** Tells whether a tip was opened, and the log ends as it says. */
function isOf(tip: Tip | undefined, { seq, hash }: ChainEnd): tip is Tip {
	return tip?.seq === seq && tip.hash.equals(hash);
}

/** Reads the state of the rows from the newest tip; undefined when the log does not end as the tip says. */
function rowState(trust: Trust, { seq, hash }: ChainEnd, sealed: Buffer | undefined): RowState | undefined {
	if (sealed === undefined && seq === 0) return noRows(trust.macs.active);
	const tip = sealed && openTipBox(sealed, trust.macs);
	if (isOf(tip, { seq, hash })) return tip.rows;
	trust.lose([tip === undefined ? "the tip" : "the end of the audit log"]);
	return undefined;
}

const ADD_EVENTS = `INSERT INTO audit_event (seq, timestamp, type, actor, realm_id, realm, data, hash, ${INDEXED_FIELDS.join(", ")})
	SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[], $10::text[], $11::text[], $12::text[])`;

const ADD_TIP = "INSERT INTO tip (sealed) VALUES";

/** Stores events of the chain, with the fields that they are found by, and the tip after them. */
export async function addEvents(sql: Sql, events: readonly StoredEvent[], sealed?: Buffer): Promise<void> {
	const tip = sealed === undefined ? [] : [sealed];
	if (events.length === 0) {
		for (const one of tip) await sql.run(`${ADD_TIP} ($1)`, [one]);
		return;
	}
	const facts = events.map(({ data }) => indexedFieldsOf(data));
	const column = <Name extends keyof StoredEvent>(name: Name) => events.map((event) => event[name]);
	await sql.run(sealed === undefined ? ADD_EVENTS : `WITH added AS (${ADD_EVENTS}) ${ADD_TIP} ($13)`, [
		...[column("seq"), column("timestamp"), column("type"), column("actor"), column("realm_id"), column("realm")],
		...[column("data"), column("hash"), ...INDEXED_FIELDS.map((_, index) => facts.map((one) => one[index]))],
		...tip,
	]);
}

/** Marks that a change leaves in the database: its place in the log, and the sealed tip, which no other change has. */
interface Written {
	end: ChainEnd;
	hasEvents: boolean;
	sealed: Buffer | undefined;
}

async function end(sql: Sql, trust: Trust, { chain, ledger, events, stale }: Running): Promise<Written> {
	const sealed =
		ledger && trust.isSound()
			? sealTip({ ...chain.tip(), rows: marked(ledger.state(), stale) }, trust.macs)
			: undefined;
	await addEvents(sql, events, sealed);
	return { end: chain.tip(), hasEvents: events.length > 0, sealed };
}

/**
 * Replaces the marks of the caches that a transaction invalidates. A mark that is missing was left out by a server of an earlier version. A new one is
 * random: what a failover or a restore takes back does not come again under the same mark.
 */
function marked(rows: RowState, stale: ReadonlySet<CacheName>): RowState {
	const replaced = CACHES.filter((cache) => stale.has(cache) || rows.marks?.[cache] === undefined);
	return { ...rows, marks: { ...rows.marks, ...Object.fromEntries(replaced.map((cache) => [cache, newMark()])) } };
}

const MARK_BYTES = 8;

const newMark = () => system.randomBytes(MARK_BYTES).toString("hex");

/** Finds a tip among those of the newest changes: every other change came after the lost one. */
const HAS_TIP = "SELECT FROM (SELECT sealed FROM tip ORDER BY id DESC LIMIT 1000) AS newest WHERE sealed = $1";

/** Writes to the log of the database, and leaves no row: without anything written, COMMIT waits for no standby. */
const MARKER = "SELECT pg_logical_emit_message(true, 'svc', '')";

/**
 * Tells whether a change was committed whose commit has no answer, or was not waited for by a synchronous standby. It had the lock of changes until it was
 * committed or rolled back, so what has the lock after it sees which. The marker makes the standby confirm all that was written before it.
 * @throws AppError store_unavailable when the database does not come back in time, or cannot tell
 */
async function wasCommitted(
	link: ReconnectingConnection,
	{ end, hasEvents, sealed }: Written,
	cause: unknown,
): Promise<boolean> {
	if (!(await link.isUpWithin(SETTLE_MS)) || (sealed === undefined && !hasEvents)) throw outcomeUnknown(cause);
	try {
		return await link.transaction(`BEGIN; ${CHANGES_LOCK}`, async () => {
			await link.rows(MARKER);
			return sealed === undefined ? hasEvent(link, end) : (await link.rows(HAS_TIP, [sealed])).length > 0;
		});
	} catch {
		throw outcomeUnknown(cause);
	}
}

async function hasEvent(sql: Sql, { seq, hash }: ChainEnd): Promise<boolean> {
	if (seq === 0) return true;
	const [event] = await sql.rows<{ hash: Buffer }>("SELECT hash FROM audit_event WHERE seq = $1", [seq]);
	return event?.hash.equals(hash) === true;
}
