import { type BeginningFacts, decideActivation, decideBeginning, type LeaseLimits } from "../../../leases/decide.ts";
import { type NewLease, TRANSITIONS } from "../../../leases/model.ts";
import { refuseMaker } from "../../../policy/decide.ts";
import { from } from "../../lease-states.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { liveRealm } from "../reads/realm-rows.ts";
import { transit } from "./lease-transition.ts";

type Beginning = Pick<Async<Implementations<"write">["leases"]>, "begin" | "activate" | "doubt">;

/** Columns of a lease that are not known before it exists. */
const NOT_YET = {
	state: "intent",
	attempts: 0,
	last_error: "",
	reason: "",
	payload: null,
	delivered_at: null,
	closed_at: null,
} as const;

/** Makes the operations that lead from nothing to active. */
export function beginning(db: Change): Beginning {
	return {
		async begin(lease, limit, event, realm_limit) {
			const limits = { limit, realm_limit };
			const decision = decideBeginning(await factsOf(db, lease, limits), limits);
			if (decision !== "done") return decision;
			await db.insert("lease", { ...lease, ...NOT_YET });
			db.append(event);
			return "done";
		},
		async activate({ made_by, id, name, expires_at, payload, due_at: ends_at }, event) {
			const [found] = await db.stored("lease", `id = $1 AND ${from(TRANSITIONS.activate)}`, [id]);
			if (found === undefined) return "lost";
			const { answer, state, reason } = decideActivation({
				reason: found.reason,
				isRealmLive: (await liveRealm(db, found.realm_id)) !== undefined,
				isMakerAdmitted:
					made_by === undefined || refuseMaker(await db.accessOf({ ...event, maker: made_by }), made_by) === undefined,
			});
			const due_at = state === "active" ? ends_at : Date.parse(event.timestamp);
			await db.update("lease", { name, expires_at, payload, state, reason, due_at }, "id = $1", [id]);
			db.append(event);
			return answer;
		},
		doubt: async ({ id, due_at, last_error }) =>
			(await transit(db, TRANSITIONS.doubt, { due_at, last_error }, "id = $1", [id])) > 0,
	};
}

/** Reads the facts that decide whether a lease may begin. */
async function factsOf(db: Change, lease: NewLease, { limit, realm_limit }: LeaseLimits): Promise<BeginningFacts> {
	const { realm_id, engine, config_id, config_realm_id, target, scope, name } = lease;
	const named = "target = $1 AND scope = $2 AND name = $3 AND name <> ''";
	const current = "engine = $1 AND state = 'active' AND realm_id = ''";
	return {
		isRealmLive: (await liveRealm(db, realm_id)) !== undefined,
		isConfigCurrent:
			config_id === ""
				? (await db.verified("engine_config", current, [engine])).length === 0
				: (await db.verified("engine_config", "id = $1 AND state = 'active'", [config_id])).length > 0,
		isNameTaken: await db.has("lease", named, [target, scope, name]),
		open:
			limit === null
				? 0
				: await countUpTo(db, limit, "engine = $2 AND config_realm_id = $3", [engine, config_realm_id]),
		openOfRealm:
			realm_limit === undefined
				? 0
				: await countUpTo(db, realm_limit, "realm_id = $2 AND engine = $3 AND config_realm_id = ''", [
						realm_id,
						engine,
					]),
	};
}

/** Counts open leases up to a limit: no request counts all. */
async function countUpTo(db: Change, most: number, condition: string, values: readonly unknown[]): Promise<number> {
	const [found] = await db.sql.rows<{ total: number }>(
		`SELECT count(*) AS total FROM (SELECT FROM lease WHERE ${condition} AND due_at IS NOT NULL LIMIT $1) AS open`,
		[most, ...values],
	);
	return found?.total ?? 0;
}
