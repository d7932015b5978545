import type { AuditEvent } from "../../packages/server/src/audit/model.ts";
import { createRealm } from "../../packages/server/src/realms/realms.ts";
import { system } from "../../packages/server/src/system.ts";
import { createToken } from "../../packages/server/src/tokens/tokens.ts";
import { addOwner, openData } from "./data-set.ts";

/** A data directory whose log is long. */
export interface LongLog {
	/** Of the owner of its realms, with every scope. */
	readonly token: string;
	/** Slug of the realm that nearly all events are of. */
	readonly often: string;
	/** Slug of a realm with few events, the oldest. */
	readonly seldom: string;
	/** Id of an actor with few events, the oldest. */
	readonly actor: string;
	/** Environment that only the oldest events name. */
	readonly environment: string;
}

const SPAN_MS = 29 * 24 * 60 * 60 * 1000;
const ENVIRONMENTS = ["dev", "test", "staging"];
const MACHINES = 200;
const KEYS = 500;
/** Events that are rare in some way. */
const RARE = 9;
/** Enough to keep every transaction of the writer full. */
const AT_ONCE = 5000;

type Undated = Omit<AuditEvent, "timestamp">;
type Realm = Pick<AuditEvent, "realm_id" | "realm">;

/** Makes two realms, and a log of this many events over the last 29 days. */
export async function makeLongLog(directory: string, count: number): Promise<LongLog> {
	const start_ms = system.now().getTime() - SPAN_MS;
	const data = await openData(directory, { now: () => new Date(start_ms) });
	const owner = await addOwner(data);
	const scopes = ["read", "write", "delete"] as const;
	const { token } = await createToken(data, owner, { name: "bench", scopes: [...scopes] });
	const log = { token, often: "often", seldom: "seldom", actor: system.uuid(), environment: "prod" };
	const realmOf = async (slug: string): Promise<Realm> => {
		const { id } = await createRealm(data, { ...owner, grants: [] }, { slug, name: slug, description: "" });
		return { realm_id: id, realm: slug };
	};
	const [often, seldom] = [await realmOf(log.often), await realmOf(log.seldom)];
	const machines = Array.from({ length: MACHINES }, () => system.uuid());
	const eventAt = (at: number): AuditEvent => ({
		timestamp: new Date(start_ms + (at * SPAN_MS) / count).toISOString(),
		...(at < RARE ? rareEvent(at, log, { often, seldom }) : usualEvent(at, often, machines)),
	});
	for (let first = 0; first < count; first += AT_ONCE) {
		const length = Math.min(AT_ONCE, count - first);
		await Promise.all(Array.from({ length }, (_, at) => data.store.audit.append(eventAt(first + at))));
	}
	await data.store.close();
	return log;
}

function rareEvent(at: number, { actor, environment }: LongLog, { often, seldom }: Record<"often" | "seldom", Realm>) {
	const read = { type: "secret.read", actor: "bench", ...often } satisfies Omit<Undated, "data">;
	const data = { key: "KEY_0", environment: "dev" };
	if (at % 3 === 0) return { ...read, actor, data };
	return at % 3 === 1 ? { ...read, data: { ...data, environment } } : { ...read, ...seldom, data };
}

function usualEvent(at: number, often: Realm, machines: readonly string[]): Undated {
	const actor = machines[at % MACHINES] ?? "";
	const data = { key: `KEY_${(at * 7) % KEYS}`, environment: ENVIRONMENTS[at % 3] ?? "", token_id: actor };
	return { type: typeAt(at), actor, ...often, data };
}

function typeAt(at: number): AuditEvent["type"] {
	if (at % 100 === 0) return "access.denied";
	return at % 20 === 0 ? "secret.set" : "secret.read";
}
