import type { Database } from "better-sqlite3";
import { createStatements } from "./statements.ts";

/** Counts as the rows are: to verify each would take a second. An index alone answers: 100,000 take 5 to 10 ms. */
const count = (where: string) =>
	`SELECT count(*) FROM secret INDEXED BY secret_counted WHERE realm_id = @realm_id AND deleted_at IS NULL ${where}`;
const upTo = (where: string) =>
	`SELECT count(*) FROM (SELECT 1 FROM secret INDEXED BY secret_counted WHERE realm_id = @realm_id AND deleted_at IS NULL ${where} LIMIT @limit) AS near`;

const IN_ENVIRONMENT = "AND environment = @environment";

/** Counts a realm's live secrets, of one environment or all. */
export function secretCounts(db: Database) {
	const prepare = createStatements(db);
	const textOf = (make: typeof count, environment: string | undefined) =>
		make(environment === undefined ? "" : IN_ENVIRONMENT);
	return {
		count: (realm_id: string, environment: string | undefined) =>
			prepare(textOf(count, environment)).pluck().get({ realm_id, environment }) as number,
		/** Returns the same, or undefined when there are more than `most`. */
		few(realm_id: string, environment: string | undefined, most: number): number | undefined {
			const few = prepare(textOf(upTo, environment)).pluck();
			const found = few.get({ realm_id, environment, limit: most + 1 }) as number;
			return found > most ? undefined : found;
		},
	};
}
