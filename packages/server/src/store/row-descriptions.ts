import type { Difference, StrangeEvent, When } from "../audit/comparison.ts";
import type { Strange } from "../audit/event-makers.ts";
import type { StoredEvent } from "../audit/model.ts";
import type { Misnamed } from "../audit/named-rows.ts";
import { factsIn } from "../audit/stored-json.ts";
import type { RowTable } from "./row-kinds.ts";

/** How a report shows a table's rows: the kind, and SQL of either store for the id and for a name that people know. */
interface Shown {
	kind: Difference["kind"];
	id: string;
	name: string;
}

const EMAIL = "(SELECT email FROM account WHERE id = user_id)";
const MACHINE =
	"(SELECT coalesce(slug || '/', '') || machine.name FROM machine LEFT JOIN realm ON realm.id = realm_id WHERE machine.id = machine_id)";
const SLUG = "(SELECT slug FROM realm WHERE id = realm_id)";

const SHOWN: Partial<Record<RowTable, Shown>> = {
	account: { kind: "account", id: "id", name: "email" },
	account_limit: { kind: "limit", id: "user_id", name: EMAIL },
	session: { kind: "session", id: "jti", name: EMAIL },
	reset_code: { kind: "code", id: "user_id", name: EMAIL },
	factor: { kind: "factor", id: "id", name: EMAIL },
	recovery_codes: { kind: "recovery", id: "user_id", name: EMAIL },
	invitation: { kind: "invitation", id: "id", name: "email" },
	invitation_binding: {
		kind: "invitation",
		id: "invitation_id || ' ' || realm_id",
		name: `${SLUG} || ' ' || (SELECT email FROM invitation WHERE id = invitation_id)`,
	},
	api_token: { kind: "token", id: "id", name: "name" },
	machine: { kind: "machine", id: "id", name: `${SLUG} || '/' || name` },
	machine_token: { kind: "machine_token", id: "id", name: MACHINE },
	trust: { kind: "trust", id: "id", name: `${MACHINE} || ' ' || name` },
	realm: { kind: "realm", id: "id", name: "slug" },
	binding: { kind: "binding", id: "realm_id || ' ' || user_id", name: `${SLUG} || ' ' || ${EMAIL}` },
	engine_config: {
		kind: "engine",
		id: "CASE state WHEN 'active' THEN engine || ' ' || realm_id ELSE id END",
		name: `engine || coalesce(' ' || ${SLUG}, '')`,
	},
	engine_former_realm: { kind: "former_realm", id: "engine || '/' || realm_id", name: `engine || ' ' || ${SLUG}` },
	sso_provider: { kind: "provider", id: "name", name: "display_name" },
	sso_identity: { kind: "identity", id: "id", name: `provider || coalesce(' ' || ${EMAIL}, '')` },
	keyring: { kind: "key", id: "id", name: "purpose" },
};

/** Returns how a report shows the rows of a table. */
export const shownOf = (table: RowTable): Shown => SHOWN[table] ?? { kind: "key", id: "''", name: "''" };

const tableOf = (name: string) => name.slice(0, name.indexOf("/")) as RowTable;

/** Groups rows by their tables. */
export function byTable(misnamed: readonly Misnamed[]): Map<RowTable, Set<string>> {
	const groups = Map.groupBy(misnamed, ({ name }) => tableOf(name));
	return new Map([...groups].map(([table, rows]) => [table, new Set(rows.map(({ name }) => name))]));
}

/** A row as a report shows it. */
export type ShownRow = Pick<Difference, "id" | "name">;

/** Shows a row by the values of the SQL for its table. */
export function shownRow(id: unknown, name: unknown): ShownRow {
	const text = Buffer.isBuffer(id) ? id.toString("hex") : String(id);
	return { id: text, name: name === null ? undefined : String(name) };
}

/**
 * Describes a row that is not as the log names it: by its columns, if it exists.
 * @param event the last one that named it, for a row that is gone
 */
export function describeRow(
	{ name, problem, by }: Misnamed,
	row: ShownRow | undefined,
	event: StoredEvent | undefined,
): Difference {
	const about = { kind: shownOf(tableOf(name)).kind, problem, seq: by?.seq, since: by?.timestamp };
	return { ...about, ...(row ?? gone(name, event)) };
}

function gone(name: string, event: StoredEvent | undefined): ShownRow {
	const id = name.split("/").slice(1).map(decodeURIComponent).join("/");
	const facts: { user_id?: unknown; engine?: unknown } = factsIn(event?.data) ?? {};
	const isBinding = event?.type === "policy.binding.created";
	const text = [facts.engine, event?.realm].filter((part) => typeof part === "string" && part !== "").join(" ");
	return { id: isBinding ? `${event.realm_id} ${facts.user_id}` : id, name: text === "" ? undefined : text };
}

/** Maximum number of differences for which a name is looked up. */
const MAX_NAMED = 100;

/** Joins what the events say in words with what their fingerprints say: one difference a row. @returns all, and those whose name is to be looked up */
export function joinDifferences(
	said: readonly Difference[],
	named: readonly Difference[],
): { differences: Difference[]; nameless: Difference[] } {
	const known = new Set(said.map(({ kind, id }) => `${kind} ${id}`));
	const differences = [...said, ...named.filter(({ kind, id }) => !known.has(`${kind} ${id}`))];
	return { differences, nameless: differences.slice(0, MAX_NAMED).filter(({ name }) => name === undefined) };
}

/** Returns the table and the SQL that find the name of a row that exists; undefined where there is none. */
export function nameSource({ kind }: Difference): { table: string; id: string; name: string } | undefined {
	const [table, shown] = Object.entries(SHOWN).find(([, { kind: of }]) => of === kind) ?? [];
	return table === undefined || shown === undefined ? undefined : { table, id: shown.id, name: shown.name };
}

/** Maximum number of strange events for which the end of the maker is looked up: each search may read the whole log. */
export const MAX_SEARCHED = 100;

/** Describes an event by the one that had ended its maker. @param wasMade whether an event before had made it */
export function strangeEvent(event: Strange, by: When | undefined, wasMade: boolean): StrangeEvent {
	const problem = by !== undefined || wasMade ? "ended" : "unknown";
	return { ...event, problem, ended_by: by?.seq, since: by?.timestamp };
}
