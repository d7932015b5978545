import type { Database } from "better-sqlite3";
import type { Difference, StrangeEvent } from "../../audit/comparison.ts";
import { makerName, type Strange } from "../../audit/event-makers.ts";
import type { StoredEvent } from "../../audit/model.ts";
import type { Misnamed } from "../../audit/named-rows.ts";
import type { RowValue } from "../../crypto/row-macs.ts";
import type { RowTable } from "../row-kinds.ts";
import { nameOf, namingColumns } from "../row-names.ts";

/** How a report shows a table's rows: the kind, and SQL for the id and for a name that people know. */
interface Shown {
	kind: Difference["kind"];
	id: string;
	name: string;
}

const EMAIL = "(SELECT email FROM main.account WHERE id = user_id)";
const MACHINE =
	"(SELECT coalesce(slug || '/', '') || machine.name FROM main.machine LEFT JOIN main.realm ON realm.id = realm_id WHERE machine.id = machine_id)";
const SLUG = "(SELECT slug FROM main.realm WHERE id = realm_id)";

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
		name: `${SLUG} || ' ' || (SELECT email FROM main.invitation WHERE id = invitation_id)`,
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
	keyring: { kind: "key", id: "lower(hex(id))", name: "purpose" },
};

const shownOf = (table: RowTable) => SHOWN[table] ?? { kind: "key", id: "''", name: "''" };
const tableOf = (name: string) => name.slice(0, name.indexOf("/")) as RowTable;

/** Describes rows that are not as the log names them: those that stand by their columns, others by the event that named them. */
export function describeMisnamed(db: Database, misnamed: readonly Misnamed[]): Difference[] {
	const shown = standing(db, misnamed);
	const event = db.prepare("SELECT * FROM main.audit_event WHERE seq = ?");
	return misnamed.map(({ name, problem, by }) => {
		const table = tableOf(name);
		const about = { kind: shownOf(table).kind, problem, seq: by?.seq, since: by?.timestamp };
		const row = shown.get(name);
		if (row !== undefined) return { ...about, ...row };
		return { ...about, ...gone(name, event.get(by?.seq) as StoredEvent | undefined) };
	});
}

/** Finds the shown ids and names of those rows that stand, by their names in the log. */
function standing(db: Database, misnamed: readonly Misnamed[]): Map<string, Pick<Difference, "id" | "name">> {
	const wanted = Map.groupBy(misnamed, ({ name }) => tableOf(name));
	const shown = new Map<string, Pick<Difference, "id" | "name">>();
	for (const [table, rows] of wanted) {
		const names = new Set(rows.map(({ name }) => name));
		const { id: idOf, name: shownName } = shownOf(table);
		const all = db.prepare(`SELECT ${idOf}, ${shownName}, ${namingColumns(table).join(", ")} FROM main.${table}`).raw();
		for (const [id, text, ...values] of all.iterate() as IterableIterator<RowValue[]>) {
			const name = nameOf(table, values);
			if (names.has(name)) shown.set(name, { id: String(id), name: text === null ? undefined : String(text) });
		}
	}
	return shown;
}

/** Describes a row that is gone by the event that named it last. */
function gone(name: string, event: StoredEvent | undefined): Pick<Difference, "id" | "name"> {
	const id = name.split("/").slice(1).map(decodeURIComponent).join("/");
	const facts = JSON.parse(event?.data ?? "{}") as { user_id?: unknown; engine?: unknown };
	const isBinding = event?.type === "policy.binding.created";
	const text = [facts.engine, event?.realm].filter((part) => typeof part === "string" && part !== "").join(" ");
	return { id: isBinding ? `${event.realm_id} ${facts.user_id}` : id, name: text === "" ? undefined : text };
}

/** Finds the name that people know of a row that stands. */
export function nameOfDifference(db: Database, { kind, id }: Difference): string | undefined {
	const [table, shown] = Object.entries(SHOWN).find(([, { kind: of }]) => of === kind) ?? [];
	if (shown === undefined) return undefined;
	const found = db.prepare(`SELECT ${shown.name} FROM main.${table} WHERE ${shown.id} = ?`).pluck().get(id);
	return typeof found === "string" && found !== "" ? found : undefined;
}

/** Maximum number of strange events for which the end of the maker is looked up: each search may read the whole log. */
const MAX_SEARCHED = 100;

/** Describes events by the one that had ended their makers before them. */
export function describeStrange(db: Database, strange: readonly Strange[]): StrangeEvent[] {
	const end = db.prepare(
		"SELECT seq, timestamp FROM main.audit_event WHERE seq < @seq AND (instr(data, @name || ' ') OR instr(data, @name || '\"') " +
			"OR (type = 'user.disabled' AND instr(data, @id))) ORDER BY seq DESC LIMIT 1",
	);
	const made = db.prepare("SELECT 1 FROM main.audit_event WHERE seq < @seq AND instr(data, @name || '=') LIMIT 1");
	return strange.map((event, index) => {
		const asked = { seq: event.seq, name: makerName(event), id: event.id };
		const by =
			index < MAX_SEARCHED ? (end.get(asked) as Pick<StoredEvent, "seq" | "timestamp"> | undefined) : undefined;
		const wasThere = by !== undefined || (index < MAX_SEARCHED && made.get(asked) !== undefined);
		return { ...event, problem: wasThere ? "ended" : "unknown", ended_by: by?.seq, since: by?.timestamp };
	});
}
