import { type Chain, type ChainEnd, createChain, GENESIS } from "../../audit/chain.ts";
import type { AuditEvent, StoredEvent } from "../../audit/model.ts";
import { createRowLedger, noRows, openTipBox, type RowLedger, type RowState, sealTip } from "../row-ledger.ts";
import type { Connection, Sql } from "./connection.ts";
import type { Change, Macs } from "./database.ts";
import { FACTS, factsOf } from "./event-facts.ts";
import { CHANGES_LOCK } from "./locks.ts";
import { createRowChanges, createRows } from "./rows.ts";

/** Whether rows get MACs: only over a database that nobody has altered, under keys. */
export interface Trust {
	macs: Macs;
	/** False before the keys came, and after an alteration was noticed. */
	isSound(): boolean;
	/** Notes what another program altered. */
	lose(altered: string[]): void;
}

/** The log and the rows as the running transaction has them. Nothing is remembered between transactions: another server may have made one. */
interface Running {
	chain: Chain;
	ledger: RowLedger | undefined;
	events: StoredEvent[];
}

/** Makes changes, one transaction at a time. */
export interface Changes {
	/** Rows, log and statements of the running transaction, for its operations. */
	change: Change;
	/** Runs a step alone in the database; its rows, its events and the tip after them are committed together, or nothing is. */
	alone<Result>(step: () => Promise<Result>): Promise<Result>;
	/** Adds an event that stands alone. */
	add(event: AuditEvent): void;
	/** Ends an operation of the transaction. */
	finish(): void;
}

/** Makes the changes of a connection. */
export function createChanges(connection: Connection, trust: Trust): Changes {
	let running: Running | undefined;
	const now = () => running ?? outside();
	const rows = createRows(connection, trust.macs);
	const change: Change = {
		...createRowChanges(connection, rows, () => now().ledger),
		sql: connection,
		ledger: () => now().ledger,
		append: (event, known) => now().chain.append(event, known),
	};
	return {
		change,
		alone: (step) =>
			connection.transaction(`BEGIN; ${CHANGES_LOCK}`, async () => {
				running = await begin(connection, trust);
				const result = await step();
				await end(connection, trust, running);
				return result;
			}),
		add: ({ timestamp, type, actor, realm_id, realm, data }) =>
			now().chain.add({ timestamp, type, actor, realm_id, realm, data: JSON.stringify(data) }),
		finish: () => now().chain.finish(),
	};
}

function outside(): never {
	throw new Error("no transaction is running");
}

/** The newest event and the newest tip, where there are any. */
type Newest = { [Column in keyof ChainEnd]: ChainEnd[Column] | null } & { sealed: Buffer | null };

const NEWEST = `SELECT seq, hash, sealed FROM (SELECT) AS always
	LEFT JOIN (SELECT seq, hash FROM audit_event ORDER BY seq DESC LIMIT 1) AS head ON true
	LEFT JOIN (SELECT sealed FROM tip ORDER BY id DESC LIMIT 1) AS tip ON true`;

async function begin(sql: Sql, trust: Trust): Promise<Running> {
	const [newest] = await sql.rows<Newest>(NEWEST);
	const head = { seq: newest?.seq ?? 0, hash: newest?.hash ?? GENESIS };
	const events: StoredEvent[] = [];
	const chain = createChain(head, (event) => void events.push(event));
	const start = trust.isSound() ? rowState(trust, head, newest?.sealed ?? undefined) : undefined;
	return { chain, ledger: start && createRowLedger(trust.macs, start, chain.note), events };
}

/** Reads the state of the rows from the newest tip; undefined when the log does not end as the tip says. */
function rowState(trust: Trust, { seq, hash }: ChainEnd, sealed: Buffer | undefined): RowState | undefined {
	if (sealed === undefined && seq === 0) return noRows(trust.macs().active);
	const tip = sealed && openTipBox(sealed, trust.macs());
	if (tip?.seq === seq && tip.hash.equals(hash)) return tip.rows;
	trust.lose([tip === undefined ? "the tip" : "the end of the audit log"]);
	return undefined;
}

const ADD_EVENTS = `INSERT INTO audit_event (seq, timestamp, type, actor, realm_id, realm, data, hash, ${FACTS.join(", ")})
	SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[], $10::text[], $11::text[], $12::text[])`;

async function end(sql: Sql, trust: Trust, { chain, ledger, events }: Running): Promise<void> {
	if (events.length > 0) {
		const facts = events.map(({ data }) => factsOf(data));
		const column = <Name extends keyof StoredEvent>(name: Name) => events.map((event) => event[name]);
		await sql.run(ADD_EVENTS, [
			...[column("seq"), column("timestamp"), column("type"), column("actor"), column("realm_id"), column("realm")],
			...[column("data"), column("hash"), ...FACTS.map((_, index) => facts.map((one) => one[index]))],
		]);
	}
	if (ledger !== undefined && trust.isSound())
		await sql.run("INSERT INTO tip (sealed) VALUES ($1)", [
			sealTip({ ...chain.tip(), rows: ledger.state() }, trust.macs()),
		]);
}
