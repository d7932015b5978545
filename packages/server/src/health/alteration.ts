import { type AuditStore, systemEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";

/** Dependencies of watching for alterations. */
export interface AlterationNeeds {
	store: { health: Pick<Store["health"], "alterations">; audit: Pick<AuditStore, "append"> };
	system: Pick<System, "now">;
	log: Log;
}

/** Watches for alterations of the database. */
export interface AlterationWatch {
	/** Tells whether another program altered the database. It is then not trusted until a restart finds it sound. */
	isAltered(): boolean;
	/** Compares the schema with the migrations' result. */
	look(): Promise<void>;
}

/** Maximum number of alterations named in the log. */
const MOST = 20;

/** Makes the watch. Call `look` before the server listens, and periodically. Design: §13 */
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
			await store.audit.append(systemEvent(system.now(), "database.altered", undefined, { altered }));
		},
	};
}
