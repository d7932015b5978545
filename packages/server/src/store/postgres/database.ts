import type { Append } from "../../audit/chain.ts";
import type { CurrentAccess, MadeEvent } from "../../policy/decide.ts";
import type { RowLedger } from "../row-ledger.ts";
import type { Sql } from "./connection.ts";
import type { RowChanges, Rows } from "./rows.ts";

/** The state of the database that a question reads, in one transaction. */
export interface Snapshot extends Rows {
	sql: Sql;
}

/** The state of the database that a change reads and writes, in one transaction and alone. */
export interface Change extends RowChanges {
	sql: Sql;
	append: Append;
	/** Reads what the maker of an event may do: a session may have ended, or a role been revoked, while a request was on its way. */
	accessOf(event: MadeEvent): Promise<CurrentAccess>;
	/** The rows' MACs; undefined where no row gets one. */
	ledger(): RowLedger | undefined;
	/** Names this server where it settles only the leases that it has claimed; undefined where it has the database for itself. */
	claimant(): string | undefined;
}

/** The operations of several nouns, each of which answers a promise. */
export type All<Nouns> = { [Noun in keyof Nouns]: Async<Nouns[Noun]> };

/** Operations, each of which answers a promise. */
export type Async<Verbs> = {
	[Verb in keyof Verbs]: Verbs[Verb] extends (...args: infer Args) => infer Result
		? (...args: Args) => Promise<Result>
		: never;
};
