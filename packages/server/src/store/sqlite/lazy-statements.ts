import type { Database, Statement } from "better-sqlite3";

/** A statement that is prepared when it is first used. */
class LazyStatement implements Pick<Statement, "run" | "get" | "all" | "iterate"> {
	#prepare: () => Statement;

	constructor(prepare: () => Statement) {
		this.#prepare = prepare;
	}

	run(...values: unknown[]): ReturnType<Statement["run"]> {
		return this.#statement().run(...values);
	}

	get(...values: unknown[]): unknown {
		return this.#statement().get(...values);
	}

	all(...values: unknown[]): unknown[] {
		return this.#statement().all(...values);
	}

	iterate(...values: unknown[]): IterableIterator<unknown> {
		return this.#statement().iterate(...values);
	}

	pluck(): this {
		const prepare = this.#prepare;
		this.#prepare = () => prepare().pluck();
		return this;
	}

	raw(): this {
		const prepare = this.#prepare;
		this.#prepare = () => prepare().raw();
		return this;
	}

	/** Prepares it, and has it answer by itself from then on. */
	#statement(): Statement {
		const prepared = this.#prepare();
		this.run = prepared.run.bind(prepared);
		this.get = prepared.get.bind(prepared);
		this.all = prepared.all.bind(prepared);
		this.iterate = prepared.iterate.bind(prepared);
		return prepared;
	}
}

/**
 * Returns the same connection, whose statements are prepared when they are first used. Those of all operations take 16 ms and 2.5 MB, most are never
 * needed, and SQLite would prepare them again after the triggers that sign rows.
 */
export function withLazyStatements(db: Database): Database {
	const prepare = (text: string) => new LazyStatement(() => db.prepare(text));
	return Object.create(db, { prepare: { value: prepare } });
}
