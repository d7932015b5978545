import type { Database, Statement } from "better-sqlite3";

/**
 * Prepares each text once, for questions of a handful of shapes: a statement for each question would wait for a collection of garbage
 * that hardly ever comes.
 */
export function createStatements(db: Database): (text: string) => Statement {
	const prepared = new Map<string, Statement>();
	return (text) => {
		const known = prepared.get(text) ?? db.prepare(text);
		prepared.set(text, known);
		return known;
	};
}
