import type { Keyring } from "../crypto/keyring.ts";
import type { Log } from "../log.ts";
import type { Duties } from "../nodes/model.ts";
import type { System } from "../system.ts";
import { checkpointText } from "./chain.ts";
import type { AuditStore } from "./model.ts";

/** Events, and milliseconds, after which the state of the log is signed again. Design: §10. */
const EVERY_EVENTS = 10_000;
const EVERY_MS = 60_000;

/** Dependencies of signing checkpoints. */
export interface CheckpointNeeds {
	store: { audit: Pick<AuditStore, "addCheckpoint" | "head">; duties: Duties };
	system: System;
	keyring: Pick<Keyring, "checkpoint">;
	log: Log;
}

/**
 * Makes the function that signs the state of the log after enough additions, stores the signature, and writes it to the server's log, so
 * that you can keep it elsewhere. Call it every second or so.
 * @returns a function that signs now if `isForced` and anything is new, else when it is due
 */
export async function createCheckpointer(needs: CheckpointNeeds): Promise<(isForced: boolean) => Promise<void>> {
	let { events: last } = await needs.store.audit.head();
	let lastAt = needs.system.now().getTime();
	return async (isForced) => {
		const { events: seq, hash } = await needs.store.audit.head();
		const now = needs.system.now();
		const isDue = seq - last >= EVERY_EVENTS || now.getTime() - lastAt >= EVERY_MS || isForced;
		if (seq === last || !isDue) return;
		if (!isForced && !(await needs.store.duties.take("checkpoints"))) {
			// Another server signs. If it ends, this one signs after as many additions.
			[last, lastAt] = [seq, now.getTime()];
			return;
		}
		const key = needs.keyring.checkpoint().active;
		const timestamp = now.toISOString();
		const signature = key.sign(checkpointText({ seq, hash, timestamp }));
		await needs.store.audit.addCheckpoint({ seq, timestamp, hash, key_id: key.id, signature });
		last = seq;
		lastAt = now.getTime();
		needs.log("info", "audit.checkpoint", {
			seq,
			hash: hash.toString("hex"),
			signature: signature.toString("base64url"),
		});
	};
}
