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

/** A connection of its own. */
export interface Connection extends Sql {
	/**
	 * Runs a step in one transaction, which is rolled back when the step throws.
	 * @param begin the statements that begin it
	 * @throws Error when the transaction was not committed
	 */
	transaction<Result>(begin: string, step: () => Promise<Result>): Promise<Result>;
	/** Runs several statements without values. */
	script(text: string): Promise<void>;
	/** Process of the database that answers, as it named itself when the connection was made. */
	readonly process_id: number;
	/** Settles when the connection has ended, for any reason. */
	readonly ended: Promise<void>;
	close(): Promise<void>;
}

/** Schema of all tables. Whatever other programs of the database define elsewhere is not found by a name. */
export const SCHEMA = "svc";

/** Schemas in which a statement finds names, after those of PostgreSQL itself. */
export const SEARCH_PATH = `${SCHEMA}, pg_temp`;

/** Settings of each connection. A table that grows is read by its indexes even before the database has counted it. */
const SETTINGS = [
	`SET search_path = ${SEARCH_PATH}`,
	"SET standard_conforming_strings = on",
	"SET enable_seqscan = off",
	"SET jit = off",
];

/** PostgreSQL's type of whole numbers of 8 bytes. */
const INT8 = 20;

/** Maximum number of statements that a connection keeps parsed. */
const MAX_NAMED = 500;

/** Milliseconds for a connection to be made. */
const CONNECT_MS = 10_000;

/** Opens a connection. @throws Error when the database cannot be reached, or refuses */
export async function connect(address: Address): Promise<Connection> {
	const types = { getTypeParser: (oid: number, format?: string) => parserOf(oid, format) } as pg.CustomTypesConfig;
	const { tls, password, ...place } = address;
	const client = new pg.Client({
		...place,
		// As text, an empty one would be looked for in the environment.
		password: () => password,
		ssl: tls === undefined ? false : { ca: tls.ca, rejectUnauthorized: true },
		types,
		application_name: "svc",
		keepAlive: true,
		connectionTimeoutMillis: CONNECT_MS,
	});
	const { promise: ended, resolve: end } = Promise.withResolvers<void>();
	// Without a listener the process would end. The callers that wait for an answer get the error.
	client.on("error", () => undefined);
	client.once("end", end);
	await client.connect();
	for (const setting of SETTINGS) await client.query(setting);
	const { processID: process_id } = client as Client & { processID: number };
	return { ...statementsOf(client), process_id, ended, close: () => client.end() };
}

function statementsOf(client: Client): Omit<Connection, "process_id" | "ended" | "close"> {
	const names = new Map<string, string>();
	/** Names a statement, so that it is parsed once a connection. Filters make more texts than the database should keep. */
	const nameOf = (text: string) => {
		const known = names.get(text);
		if (known !== undefined || names.size >= MAX_NAMED) return known;
		const name = `s${names.size}`;
		names.set(text, name);
		return name;
	};
	const ask = (text: string, values: readonly unknown[]) => {
		const name = nameOf(text);
		return client.query({ ...(name !== undefined && { name }), text, values: [...values] });
	};
	return {
		rows: async <Row>(text: string, values: readonly unknown[] = []) => (await ask(text, values)).rows as Row[],
		run: async (text, values = []) => (await ask(text, values)).rowCount ?? 0,
		script: async (text) => void (await client.query(text)),
		async transaction(begin, step) {
			try {
				await client.query(begin);
				const result = await step();
				const { command } = await client.query("COMMIT");
				// A transaction that failed meanwhile answers COMMIT with ROLLBACK, and without an error.
				if (command !== "COMMIT") throw new Error("the database rolled the transaction back");
				return result;
			} catch (error) {
				// Fails only where the connection has ended, and the transaction with it.
				await client.query("ROLLBACK").catch(() => undefined);
				throw error;
			}
		},
	};
}

/** Makes the tables' schema, unless it is there. */
export async function makeSchema(sql: Sql): Promise<void> {
	await sql.run(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
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
