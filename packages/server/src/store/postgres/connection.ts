import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import pg from "pg";
import type { Address } from "./address.ts";

/** Runs statements of one connection, in order, in the transaction that is open there. */
export interface Sql {
	/** Answers the rows of a statement. */
	rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
	/** Answers the number of rows that a statement changed. */
	run(text: string, values?: readonly unknown[]): Promise<number>;
}

/** Runs statements and transactions, one transaction at a time. */
export interface Session extends Sql {
	/**
	 * Runs a step in one transaction, which is rolled back when the step throws.
	 * @param begin the statements that begin it, without values; the step gets the rows of the last one
	 * @throws Error when the transaction was not committed; CommitUnknown when nobody can tell
	 */
	transaction<Result>(begin: string, step: (found: unknown[]) => Promise<Result>): Promise<Result>;
	/** Runs several statements without values. */
	script(text: string): Promise<void>;
}

/** A connection of its own. */
export interface Connection extends Session {
	/** Process of the database that answers, as it named itself when the connection was made. */
	readonly process_id: number;
	/** Tells whether the connection has ended, or its database has stopped to answer. */
	isLost(): boolean;
	/** Settles when it is lost, or was closed. */
	readonly ended: Promise<void>;
	/** Gives it up unless the database has answered on it since this moment of `performance.now()`. */
	loseUnlessHeard(since: number): void;
	/** Makes another connection to the same database. */
	again(): Promise<Connection>;
	close(): Promise<void>;
}

/** Schema of all tables. Whatever other programs of the database define elsewhere is not found by a name. */
export const SCHEMA = "svc";

/** Schemas in which a statement finds names, after those of PostgreSQL itself. */
export const SEARCH_PATH = `${SCHEMA}, pg_temp`;

/** Milliseconds to wait for a lock that another program holds, and between two statements of a transaction, so that a suspended process releases its locks. */
const LOCK_MS = 10_000;
const IDLE_MS = 30_000;

/** Milliseconds of a statement in the database: it ends before the connection counts as lost. */
const STATEMENT_MS = 25_000;

/** Settings of each connection. A table that grows is read by its indexes even before the database has counted it. */
const SETTINGS = [
	"SET client_min_messages = warning",
	`SET search_path = ${SEARCH_PATH}`,
	"SET standard_conforming_strings = on",
	"SET enable_seqscan = off",
	"SET jit = off",
	`SET lock_timeout = ${LOCK_MS}`,
	`SET statement_timeout = ${STATEMENT_MS}`,
	`SET idle_in_transaction_session_timeout = ${IDLE_MS}`,
	// The database notices within half a minute that this machine is gone, and lets go of its locks.
	"SET tcp_keepalives_idle = 10",
	"SET tcp_keepalives_interval = 5",
	"SET tcp_keepalives_count = 3",
];

/** PostgreSQL's type of whole numbers of 8 bytes. */
const INT8 = 20;

/** Maximum number of statements that a connection keeps parsed. */
const MAX_NAMED = 500;

/** Milliseconds for a connection to be made. */
const CONNECT_MS = 5000;

/** Milliseconds after which a database that does not answer a statement counts as lost. */
const ANSWER_MS = 30_000;

/** Milliseconds without traffic after which the connection is probed. */
const QUIET_MS = 10_000;

/** Milliseconds for a connection to end in order. */
const END_MS = 2000;

/** Says that a connection has ended, or that its database has stopped to answer: the transaction, if there was one, is rolled back. */
export class ConnectionLost extends Error {}

/** Says that a connection was lost after COMMIT was sent and before it was answered, or that no standby has confirmed it. */
export class CommitUnknown extends ConnectionLost {}

/** Opens a connection. @throws Error when the database cannot be reached, or refuses */
export async function connect(address: Address): Promise<Connection> {
	const types = { getTypeParser: (oid: number, format?: string) => parserOf(oid, format) } as pg.CustomTypesConfig;
	const { tls, password, ...place } = address;
	const socket = new Socket();
	const client = new pg.Client({
		...place,
		stream: () => socket,
		// As text, an empty one would be looked for in the environment.
		password: () => password,
		ssl: tls === undefined ? false : { ca: tls.ca, rejectUnauthorized: true },
		types,
		application_name: "svc",
		keepAlive: true,
		keepAliveInitialDelayMillis: QUIET_MS,
		connectionTimeoutMillis: CONNECT_MS,
	});
	// A pooler refuses options. Those of the environment, PGOPTIONS, are not ours.
	Object.assign((client as unknown as { connectionParameters: object }).connectionParameters, { options: "" });
	const { promise: ended, resolve } = Promise.withResolvers<void>();
	let isLost = false;
	const lose = () => {
		isLost = true;
		socket.destroy();
		resolve();
	};
	// Without a listener the process would end. The callers that wait for an answer get the error.
	client.on("error", lose);
	client.once("end", lose);
	await client.connect();
	let heard_at = performance.now();
	const statements = statementsOf(client, lose, () => {
		heard_at = performance.now();
	});
	for (const setting of SETTINGS) await statements.script(setting);
	const { processID: process_id } = client as Client & { processID: number };
	return {
		...statements,
		process_id,
		isLost: () => isLost,
		ended,
		again: () => connect(address),
		loseUnlessHeard: (since) => void (heard_at < since && lose()),
		close: () => closeInOrder(client, socket),
	};
}

/** Uses a connection of its own for a moment. */
export async function withConnection<Result>(
	address: Address,
	use: (connection: Connection) => Promise<Result>,
): Promise<Result> {
	const connection = await connect(address);
	try {
		return await use(connection);
	} finally {
		await connection.close();
	}
}

async function closeInOrder(client: Client, socket: Socket): Promise<void> {
	await Promise.race([client.end().catch(() => undefined), delay(END_MS, undefined, { ref: false })]);
	socket.destroy();
}

/** SQLSTATE of a database that ends the connection: an administrator or a crash stops it, or it is starting. */
const ENDING = /^(08|57P)/;

/** Tells whether the database itself refused the statement, and goes on. */
function isRefusal(error: unknown): boolean {
	return error instanceof pg.DatabaseError && !ENDING.test(error.code ?? "");
}

function statementsOf(client: Client, lose: () => void, noteAnswer: () => void): Session {
	/** Sends a statement. @throws ConnectionLost when it has no answer */
	const send = async (query: string | pg.QueryConfig): Promise<pg.QueryResult> => {
		const late = setTimeout(lose, ANSWER_MS);
		try {
			const result = await client.query(query);
			noteAnswer();
			return result;
		} catch (cause) {
			if (isRefusal(cause)) {
				noteAnswer();
				throw cause;
			}
			lose();
			throw new ConnectionLost("the connection to the database was lost", { cause });
		} finally {
			clearTimeout(late);
		}
	};
	let warnings = 0;
	client.on("notice", ({ severity }) => {
		if (severity === "WARNING") warnings++;
	});
	const commit = async () => {
		const before = warnings;
		const { command } = await send("COMMIT").catch((error: unknown) => {
			throw error instanceof ConnectionLost ? new CommitUnknown(error.message, { cause: error }) : error;
		});
		// A transaction that failed meanwhile answers COMMIT with ROLLBACK, and without an error.
		if (command !== "COMMIT") throw new Error("the database rolled the transaction back");
		// Somebody cancelled the wait for a synchronous standby: the change is visible, and a failover may lose it.
		if (warnings > before) throw new CommitUnknown("the database warned that the commit may be lost");
	};
	const named = createNames();
	const ask = (text: string, values: readonly unknown[]) => send({ ...named(text), text, values: [...values] });
	return {
		rows: async <Row>(text: string, values: readonly unknown[] = []) => (await ask(text, values)).rows as Row[],
		run: async (text, values = []) => (await ask(text, values)).rowCount ?? 0,
		script: async (text) => void (await send(text)),
		async transaction(begin, step) {
			try {
				// Several statements have several results.
				const begun: pg.QueryResult | pg.QueryResult[] = await send(begin);
				const result = await step([begun].flat().at(-1)?.rows ?? []);
				await commit();
				return result;
			} catch (error) {
				// Fails only where the connection has ended, and the transaction with it.
				await send("ROLLBACK").catch(() => undefined);
				throw error;
			}
		},
	};
}

/** Names statements, so that each is parsed once a connection. Filters make more texts than the database should keep. */
function createNames(): (text: string) => { name?: string } {
	const names = new Map<string, string>();
	return (text) => {
		const known = names.get(text);
		if (known !== undefined) return { name: known };
		if (names.size >= MAX_NAMED) return {};
		const name = `s${names.size}`;
		names.set(text, name);
		return { name };
	};
}

/** Makes the tables' schema, unless it is there: an owner of tables need not be allowed to make schemas. */
export async function makeSchema(sql: Sql): Promise<void> {
	const [found] = await sql.rows<{ is_there: boolean }>(`SELECT to_regnamespace('${SCHEMA}') IS NOT NULL AS is_there`);
	if (found?.is_there !== true) await sql.run(`CREATE SCHEMA ${SCHEMA}`);
}

function parserOf(oid: number, format: string | undefined): (text: string) => unknown {
	if (oid === INT8) return wholeNumber;
	return pg.types.getTypeParser(oid, format as "text");
}

/** Reads a number that JavaScript has without loss. @throws RangeError for any other */
function wholeNumber(text: string): number {
	const number = Number(text);
	if (!Number.isSafeInteger(number)) throw new RangeError("a number of the database is too large");
	return number;
}
