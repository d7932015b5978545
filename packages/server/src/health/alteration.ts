import { setTimeout as delay } from "node:timers/promises";
import { type AuditStore, systemEvent } from "../audit/model.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";

/** Dependencies of watching for alterations. */
export interface AlterationNeeds {
	store: { health: Pick<Store["health"], "alterations">; audit: Pick<AuditStore, "append"> } & Pick<
		Store,
		"checkIntegrity" | "reportAltered"
	>;
	system: Pick<System, "now">;
	log: Log;
}

/** Watches for alterations of the database. */
export interface AlterationWatch {
	/** Tells whether another program altered the database. It is then not trusted until a restart finds it sound. */
	isAltered(): boolean;
	/** Tells whether no alteration was found, not even of rows that are refused one by one. */
	isSound(): boolean;
	/** Tells whether an integrity check found that no row is missing, either; waits a moment for the first one. */
	isComplete(): Promise<boolean>;
	/** Compares the schema, and repeats what the store has found. */
	checkSchema(): Promise<void>;
	/** Also compares every row, in another thread. */
	checkIntegrity(): Promise<void>;
}

/** Maximum number of alterations named in the log. */
const MOST = 20;

/** Milliseconds for which a request waits for the first integrity check. */
const PATIENCE_MS = 1000;

const REFUSED =
	"another program altered the database, so every request is refused; leases are still revoked: check it with `svc adopt --again`, or restore a backup";
const SERVED =
	"another program altered values, versions or leases in the database; those are refused, everything else works: check it with `svc adopt --again`, or restore a backup";

/** Makes the watch. Call `checkSchema` before the server listens, `checkIntegrity` once it does, and both periodically. Design: §13 */
export function createAlterationWatch({ store, system, log }: AlterationNeeds): AlterationWatch {
	let [isAltered, isSound, isCompared] = [false, true, false];
	const first = Promise.withResolvers<void>();
	const record = async (type: "database.altered" | "rows.altered", found: string[], message: string) => {
		const altered = found.slice(0, MOST).join(", ");
		log("error", type, { altered, message });
		await store.audit.append(systemEvent(system.now(), type, undefined, { altered }));
	};
	const refuseAll = async (found: string[]) => {
		if (isAltered || found.length === 0) return;
		[isAltered, isSound] = [true, false];
		await store.reportAltered(found.slice(0, MOST));
		await record("database.altered", found, REFUSED);
	};
	const checkSchema = async () => refuseAll(await store.health.alterations());
	return {
		isAltered: () => isAltered,
		isSound: () => isSound,
		async isComplete() {
			if (!isCompared) await Promise.race([first.promise, delay(PATIENCE_MS, undefined, { ref: false })]);
			return isCompared && isSound;
		},
		checkSchema,
		async checkIntegrity() {
			await checkSchema();
			if (isAltered) return;
			const { access, content } = await store.checkIntegrity();
			const wasSound = isSound;
			isSound &&= access.length + content.length === 0;
			isCompared = true;
			first.resolve();
			await refuseAll(access);
			if (wasSound && content.length > 0) await record("rows.altered", content, SERVED);
		},
	};
}
