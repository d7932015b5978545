import { setTimeout as delay } from "node:timers/promises";
import { systemEvent } from "../audit/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import type { KeyStore } from "../crypto/keyring-model.ts";
import type { Log } from "../log.ts";
import type { System } from "../system.ts";

/** Milliseconds between two steps, which leave most of the time to others. */
const PAUSE_MS = 10;

/** Dependencies of authenticating rows with a new key. */
export interface RenewalNeeds {
	store: { keys: Pick<KeyStore, "renewRows" | "destroyRowKey"> };
	keyring: Pick<Keyring, "replacedRowKeys" | "reload">;
	system: Pick<System, "now">;
	log: Log;
	/** Tells whether nothing in the database is believed. */
	isAltered(): boolean;
}

/** Work behind a rotation of the key for rows. */
export interface RowRenewal {
	/** Begins, unless it is under way or nothing is to be done. A failure is logged; the next call tries again. */
	start(): void;
	/** Ends after the step that is under way; the next start of the server goes on. */
	stop(): Promise<void>;
}

/**
 * Authenticates all rows with the active key, some at a time, then destroys the keys that it replaced. Nothing of the progress is stored: after an
 * interruption it looks at all rows again. Design: §13
 */
export function createRowRenewal({ store: { keys }, keyring, system, log, isAltered }: RenewalNeeds): RowRenewal {
	let running: Promise<void> | undefined;
	let [isAskedAgain, isStopping] = [false, false];
	const mustWait = () => isStopping || isAltered();
	const renewAll = async (): Promise<boolean> => {
		for (let position = ""; !mustWait(); await delay(PAUSE_MS)) {
			position = await keys.renewRows(position);
			if (position === "") return true;
		}
		return false;
	};
	const destroy = async (id: Buffer) => {
		const event = systemEvent(system.now(), "key.destroyed", undefined, { purpose: "rows" });
		if ((await keys.destroyRowKey(id, event)) === "in_use") log("warn", "rows.key.kept", { message: KEPT });
	};
	const run = async () => {
		if (keyring.replacedRowKeys().length === 0 || !(await renewAll())) return;
		for (const id of keyring.replacedRowKeys()) await destroy(id);
		await keyring.reload();
	};
	const runWhileAsked = async () => {
		while (isAskedAgain && !mustWait()) {
			isAskedAgain = false;
			await run().catch((error: unknown) => isStopping || log("error", "rows.renewal.failed", { error }));
		}
		running = undefined;
	};
	return {
		start() {
			isAskedAgain = true;
			running ??= runWhileAsked();
		},
		async stop() {
			isStopping = true;
			await running;
		},
	};
}

const KEPT =
	"rows of the key before are missing or were put back: the key stays until `svc adopt --again` has believed the database";
