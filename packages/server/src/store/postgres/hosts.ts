import { FatalError } from "../../errors.ts";
import { UnsuitableDatabase } from "../unsuitable.ts";
import type { Address } from "./address.ts";
import { type Connection, connect } from "./connection.ts";
import { explainPooled } from "./pooler.ts";

/** A connection, and the address that it was made with. */
export interface Reached {
	connection: Connection;
	address: Address;
}

/**
 * Opens a connection to the first of several hosts whose database passes a check.
 * @throws FatalError of the check; else UnsuitableDatabase if one answers, else the error of the last one
 */
export async function reachDatabase(
	addresses: readonly Address[],
	check: (connection: Connection) => Promise<void>,
): Promise<Reached> {
	const errors: unknown[] = [];
	for (const address of addresses) {
		try {
			return { address, connection: await connectAnd(address, check) };
		} catch (error) {
			if (error instanceof FatalError) throw error;
			errors.push(error);
		}
	}
	throw errors.findLast((error) => error instanceof UnsuitableDatabase) ?? errors.at(-1);
}

async function connectAnd(address: Address, check: (connection: Connection) => Promise<void>): Promise<Connection> {
	const connection = await connect(address);
	try {
		await check(connection);
		return connection;
	} catch (error) {
		await connection.close();
		throw explainPooled(error);
	}
}
