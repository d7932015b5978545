import files from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { openKeyring } from "../crypto/keyring.ts";
import type { KeyStore } from "../crypto/keyring-model.ts";
import { loadMasterKey } from "../crypto/master-key.ts";
import { type MasterKeyHome, rotateDataKey, rotateMasterKey } from "../crypto/rotation.ts";
import { openWriter } from "../store/sqlite/open.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import { keyWrites } from "../store/sqlite/writes/keys.ts";
import { system } from "../system.ts";

/** Steps of a master key's rotation at which the process kills itself, in order. */
export const MASTER_STEPS = [
	"before staging",
	"while the draft of the staged file is empty",
	"while the staged file is a draft",
	"after staging",
	"with half of the keys wrapped again",
	"before the commit",
	"after the commit",
	"after the renaming",
	"after settling",
] as const;

/** The same for the rotation of a key of the keyring. */
export const DATA_STEPS = ["before the transaction", "before the commit", "after the commit"] as const;

/** The same for a start that completes an interrupted rotation. */
export const RECOVERY_STEPS = ["before removing", "after removing", "before renaming", "after renaming"] as const;

export type Step = (typeof MASTER_STEPS | typeof DATA_STEPS | typeof RECOVERY_STEPS)[number];

/** The process's task: rotate the master key, or a key of a realm or, if that is empty, of the instance; or only start. */
export type Task = "master" | "recover" | `record ${string}` | "portable ";

/** The master key after the rotation. */
export const NEXT = Buffer.alloc(32, 2);

const EVENT = { timestamp: "", type: "key.rotated", actor: "system", realm_id: "", realm: "", data: {} } as const;

/** Ends the process like a power cut: nothing after it runs. */
function die(): never {
	process.kill(process.pid, "SIGKILL");
	for (;;);
}

const [directory = "", task = "", target] = process.argv.slice(2);
const dieAt = (step: Step) => {
	if (step === target) die();
};

/** From now on gives the process a chance to die before and after files are written, renamed and removed. */
function watchFiles(isRecovery: boolean): void {
	const { rename, rm } = fs;
	const { renameSync, writeFileSync } = files;
	files.writeFileSync = (file, data, options) => {
		const isCutOff = target === "while the draft of the staged file is empty";
		writeFileSync(file, isCutOff ? "" : data, options);
		dieAt("while the draft of the staged file is empty");
	};
	files.renameSync = (...args) => {
		dieAt("while the staged file is a draft");
		renameSync(...args);
	};
	fs.rename = async (...args) => {
		if (isRecovery) dieAt("before renaming");
		await rename(...args);
		dieAt(isRecovery ? "after renaming" : "after the renaming");
	};
	fs.rm = async (...args) => {
		if (isRecovery) dieAt("before removing");
		await rm(...args);
		if (isRecovery) dieAt("after removing");
	};
	syncBuiltinESMExports();
}

/** Runs a transaction on the real file that is never committed: as much of it as possible is in the log already. */
function withinTransaction(run: (writes: ReturnType<typeof keyWrites>) => unknown): never {
	const db = openWriter(join(directory, "svc.db"));
	db.pragma("cache_size = 1");
	db.exec("BEGIN IMMEDIATE");
	// The event is written last: everything else is written by then.
	run(keyWrites(db, die));
	throw new Error("the transaction came to its end");
}

/** Wraps the store's keys, with a chance to die before, in and after each transaction. */
function fragile(keys: KeyStore): KeyStore {
	return {
		...keys,
		async rewrap(input, event) {
			if (target === "before the commit") withinTransaction((writes) => writes.rewrap(input, event));
			if (target === "with half of the keys wrapped again") {
				const half = Math.floor(input.keys.length / 2);
				const deadly = input.keys.map((key, index) =>
					index < half
						? key
						: {
								id: key.id,
								get wrapped() {
									return die();
								},
							},
				);
				withinTransaction((writes) => writes.rewrap({ ...input, keys: deadly }, event));
			}
			const outcome = await keys.rewrap(input, event);
			dieAt("after the commit");
			return outcome;
		},
		async rotate(input, event) {
			dieAt("before the transaction");
			if (target === "before the commit") withinTransaction((writes) => writes.rotate(input, event));
			await keys.rotate(input, event);
			dieAt("after the commit");
			return "done";
		},
	};
}

/** Wraps the key file, with a chance to die around its changes. */
function fragileHome(home: MasterKeyHome): MasterKeyHome {
	let isStaged = false;
	return {
		async stage(next) {
			dieAt("before staging");
			await home.stage(next);
			isStaged = true;
			dieAt("after staging");
		},
		async settle(fingerprint) {
			await home.settle(fingerprint);
			if (isStaged) dieAt("after settling");
		},
	};
}

async function main(): Promise<void> {
	watchFiles(task === "recover");
	const store = await openSqliteStore({ directory, now: system.now(), onFailure: die });
	const sources = {
		credentials_dir: undefined,
		master_key_file: undefined,
		data_dir: directory,
		master_key: undefined,
	};
	const master = await loadMasterKey(sources, await store.keys.fingerprint(), system);
	const keyring = await openKeyring({ keys: store.keys, guard: store.guard, master: master.key.reveal(), system });
	const keys = fragile(store.keys);
	if (task === "master") {
		if (master.home === undefined) throw new Error("the master key is in no file");
		await rotateMasterKey({ keys, keyring, home: fragileHome(master.home), system }, NEXT, EVENT);
	}
	if (task.startsWith("record ")) await rotateDataKey({ keys, keyring }, "record", task.slice(7), EVENT);
	if (task === "portable ") await rotateDataKey({ keys, keyring }, "portable", "", EVENT);
	await store.close();
}

if (import.meta.main) await main();
