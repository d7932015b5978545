import { type AuditStore, systemEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";

/** Dependencies of watching for alterations. */
export interface AlterationNeeds {
	store: { health: Pick<Store["health"], "alterations">; audit: Pick<AuditStore, "append"> } & Pick<Store, "misfits">;
	system: Pick<System, "now">;
	log: Log;
}

/** Watches for alterations of the database. */
export interface AlterationWatch {
	/** Tells whether another program altered the database. It is then not trusted until a restart finds it sound. */
	isAltered(): boolean;
	/** Tells whether no alteration was found, not even of rows that are refused one by one. */
	isSound(): boolean;
	/** Compares the schema, and repeats what the store has found. */
	look(): Promise<void>;
	/** Also compares every row, in another thread. */
	lookAtRows(): Promise<void>;
}

/** Maximum number of alterations named in the log. */
const MOST = 20;

const REFUSED =
	"another program altered the database, so every request is refused; leases are still revoked: look at it with `svc adopt --again`, or restore a backup";
const SERVED =
	"another program altered values, versions or leases in the database; those are refused, all else goes on: look at it with `svc adopt --again`, or restore a backup";

/** Makes the watch. Call `look` before the server listens, and `lookAtRows` behind it and periodically. Design: §13 */
export function createAlterationWatch({ store, system, log }: AlterationNeeds): AlterationWatch {
	let [isAltered, isSound] = [false, true];
	const record = async (type: "database.altered" | "rows.altered", found: string[], message: string) => {
		const altered = found.slice(0, MOST).join(", ");
		log("error", type, { altered, message });
		await store.audit.append(systemEvent(system.now(), type, undefined, { altered }));
	};
	const refuseAll = async (found: string[]) => {
		if (isAltered || found.length === 0) return;
		[isAltered, isSound] = [true, false];
		await record("database.altered", found, REFUSED);
	};
	const look = async () => refuseAll(await store.health.alterations());
	return {
		isAltered: () => isAltered,
		isSound: () => isSound,
		look,
		async lookAtRows() {
			await look();
			if (isAltered) return;
			const { access, content } = await store.misfits();
			await refuseAll(access);
			if (!isSound || content.length === 0) return;
			isSound = false;
			await record("rows.altered", content, SERVED);
		},
	};
}
