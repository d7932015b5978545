import type { AuditStore } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";

/** Dependencies of watching for alterations. */
export interface AlterationNeeds {
	store: { health: Pick<Store["health"], "alterations">; audit: Pick<AuditStore, "append"> };
	system: Pick<System, "now">;
	log: Log;
}

/** Watch over the database's own soundness. */
export interface AlterationWatch {
	/** Tells whether another program altered the database: then nothing in it is believed until a start finds it sound. */
	isAltered(): boolean;
	/** Compares it with what the server left. */
	look(): Promise<void>;
}

/** Maximum number of alterations named in the log. */
const MOST = 20;

/** Makes the watch. Call `look` before the server listens, and now and then. Design: §13 */
export function createAlterationWatch({ store, system, log }: AlterationNeeds): AlterationWatch {
	let isAltered = false;
	return {
		isAltered: () => isAltered,
		async look() {
			if (isAltered) return;
			const found = await store.health.alterations();
			if (found.length === 0) return;
			isAltered = true;
			const altered = found.slice(0, MOST).join(", ");
			log("error", "database.altered", {
				altered,
				message:
					"another program altered the database, so every request is refused; leases are still revoked: restore a backup",
			});
			const timestamp = system.now().toISOString();
			const about = { timestamp, actor: "system", realm_id: "", realm: "" };
			await store.audit.append({ ...about, type: "database.altered", data: { altered } });
		},
	};
}
