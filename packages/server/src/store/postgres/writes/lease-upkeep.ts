import { type ClockMark, TRANSITIONS } from "../../../leases/model.ts";
import { from } from "../../lease-states.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { leadTo, transit } from "./lease-transition.ts";
import { setMeta } from "./meta.ts";

type Upkeep = Pick<
	Async<Implementations<"write">["leases"]>,
	"postpone" | "hasten" | "delivered" | "recover" | "distrust" | "saveClock" | "resume" | "forget"
>;

/** Maximum number of leases hastened, and forgotten, in one transaction. */
const MAX_HASTENED = 100;
const MAX_FORGOTTEN = 1000;

/** Leases checked at a time. */
const PORTION = 1000;

/** Makes the operations that the server runs by itself, and the one that ends the pause after a restore. */
export function upkeep(db: Change): Upkeep {
	return {
		async postpone({ id, due_at, attempts, last_error }) {
			await transit(db, TRANSITIONS.postpone, { due_at, attempts, last_error }, "id = $1", [id]);
		},
		hasten({ target, now_ms, until_ms, but_for }) {
			const late = `target = $1 AND due_at > $2 AND due_at <= $3 AND ${from(TRANSITIONS.postpone)}`;
			const some = `SELECT id FROM lease WHERE ${late} AND (state = 'revoking' OR last_error <> $4) LIMIT ${MAX_HASTENED}`;
			return db.update("lease", { due_at: now_ms }, `id IN (${some})`, [target, now_ms, until_ms, but_for]);
		},
		async delivered({ ids, at }) {
			await db.sql.run("UPDATE lease SET delivered_at = $1 WHERE id = ANY($2::text[]) AND delivered_at IS NULL", [
				at,
				ids,
			]);
		},
		recover: ({ due_at, last_error }) =>
			transit(db, TRANSITIONS.doubt, { due_at, last_error }, "due_at IS NOT NULL", []),
		distrust: ({ due_at }) => distrust(db, due_at),
		saveClock: (mark) => saveClock(db, mark),
		async resume(event) {
			const wasPaused = (await db.remove("meta", "name = 'leases_paused'")) > 0;
			if (wasPaused) db.append(event);
			return wasPaused;
		},
		forget: (closed_before) =>
			db.remove("lease", `id IN (SELECT id FROM lease WHERE closed_at < $1 LIMIT ${MAX_FORGOTTEN})`, [closed_before]),
	};
}

/** Saves the lease clock, unless a server whose clock is ahead has saved it: nobody's next start goes back. */
async function saveClock(db: Change, mark: ClockMark): Promise<void> {
	const [saved] = await db.verified("meta", "name = 'lease_clock'");
	const { lease_ms }: Pick<ClockMark, "lease_ms"> = saved === undefined ? { lease_ms: 0 } : JSON.parse(saved.value);
	if (lease_ms <= mark.lease_ms) await setMeta(db, "lease_clock", JSON.stringify(mark));
}

/** Takes every lease whose row another program altered for one that must be revoked. @returns how many */
async function distrust(db: Change, due_at: number): Promise<number> {
	const to = leadTo(TRANSITIONS.distrust);
	let count = 0;
	for (let after = ""; ; ) {
		const leases = await db.checked("lease", `id > $1 ORDER BY id LIMIT ${PORTION}`, [after]);
		const altered = leases.filter((lease) => lease.altered).map(({ id }) => id);
		const changes = { due_at, closed_at: null, attempts: 0 };
		count += await db.update("lease", (before) => ({ ...to(before), ...changes }), "id = ANY($1::text[])", [altered]);
		const last = leases.at(-1);
		if (last === undefined) return count;
		after = last.id;
	}
}
