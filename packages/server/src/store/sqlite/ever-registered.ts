import type { Database } from "better-sqlite3";
import { lazy } from "./reads/read-connection.ts";

/**
 * Prepares the query for whether an account ever existed. Emptying the table in the file makes no new instance admin: the log knows the first
 * registration. The log is read once at most, because every later registration leaves a row. Design: §13
 */
export function everRegistered(db: Database): () => boolean {
	const any = lazy(() => db.prepare("SELECT 1 FROM account LIMIT 1"));
	const logged = lazy(() => db.prepare("SELECT 1 FROM audit_event WHERE type = 'auth.register' LIMIT 1"));
	let wasLogged: boolean | undefined;
	return () => {
		if (any().get() !== undefined) return true;
		wasLogged ??= logged().get() !== undefined;
		return wasLogged;
	};
}
