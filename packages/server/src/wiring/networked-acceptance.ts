import { join } from "node:path";
import { systemEvent } from "../audit/model.ts";
import type { Config } from "../config.ts";
import { openKeyring } from "../crypto/keyring.ts";
import { requireMasterKey } from "../crypto/master-key.ts";
import { FatalError } from "../errors.ts";
import { nameOf, readAddresses } from "../store/postgres/address.ts";
import { HISTORY_FILE, readHistory } from "../store/postgres/history.ts";
import { openPostgresStore, type PostgresStore } from "../store/postgres/store.ts";
import type { Unsuitability } from "../store/unsuitable.ts";
import { system } from "../system.ts";
import { explain } from "./networked-store.ts";

/** An end of the log. */
interface End {
	seq: number;
	/** In hexadecimal. */
	hash: string;
}

/** A loss that may be accepted, for a person to look at. */
export interface Loss {
	/** Address of the database without the password. */
	place: string;
	reason: Unsuitability;
	/** End of the log that this machine's server has seen. */
	seen: End;
	/** End of the log that the database has. */
	found: End;
}

/**
 * Accepts that the database that `database_url` names is not the one that this machine's server knows, or lacks what it has seen. All servers go on with it.
 * @returns undefined when it was not confirmed
 * @throws FatalError when nothing was lost, the master key is another one, or the database was altered
 * Design: §14
 */
export async function acceptNetworkedLoss(
	config: Config,
	confirm: (loss: Loss) => Promise<boolean>,
): Promise<Loss | undefined> {
	const known = readHistory(join(config.data_dir, HISTORY_FILE));
	const failed = Promise.withResolvers<never>();
	const place = { addresses: () => readAddresses(config), isShared: true, onFailure: failed.reject };
	const store = await openPostgresStore({ ...place, now: system.now(), pending: "refuse" }).catch(explain);
	const accept = async () => {
		await trust(config, store);
		const { fault, seq, hash, accepted_at } = await store.compareHistory(known);
		if (fault === undefined) throw nothingLost(config);
		const seen = { seq: known.seq, hash: known.hash };
		const loss: Loss = { place: nameOf(store.address()), reason: fault, seen, found: { seq, hash } };
		if (!(await confirm(loss))) return undefined;
		const facts = { reason: fault, seen_seq: known.seq, seen_hash: known.hash, found_seq: seq, found_hash: hash };
		const now = system.now();
		const event = systemEvent(now, "database.loss_accepted", undefined, facts);
		await store.health.acceptLoss(after(now, known.accepted_at, accepted_at), event);
		return loss;
	};
	try {
		return await Promise.race([accept(), failed.promise]);
	} finally {
		await store.close();
	}
}

function nothingLost({ data_dir }: Config): FatalError {
	return new FatalError(
		`the database has all that the server of ${data_dir} has seen: if another server refuses it, run the command on that machine`,
	);
}

/** Writes a time that is later than those of earlier acceptances, whatever this machine's clock says. */
function after(now: Date, ...earlier: string[]): string {
	const newest = Math.max(0, ...earlier.filter((time) => time !== "").map((time) => Date.parse(time)));
	return new Date(Math.max(now.getTime(), newest + 1)).toISOString();
}

/** Opens the store's keys, and requires rows that fit them. */
async function trust(config: Config, store: PostgresStore): Promise<void> {
	const fingerprint = await store.keys.fingerprint();
	if (fingerprint === undefined)
		throw new FatalError("the database is empty: bring back the right one, or restore a backup into it");
	const { key } = await requireMasterKey(config, fingerprint);
	await openKeyring({ keys: store.keys, guard: store.guard, master: key.reveal(), system });
	const altered = [...(await store.health.alterations()), ...(await store.checkIntegrity()).access];
	if (altered.length === 0) return;
	throw new FatalError(
		"another program altered the database: look at it with `svc adopt --look`, and accept nothing before it is sound",
	);
}
