import type { System } from "../system.ts";
import { type Check, type Durability, ok } from "./model.ts";

/** Dependencies of examining the durability of the database. */
export interface DurabilityNeeds {
	/** Reads what decides about it; undefined where the database is a file of this machine. */
	durability(): Promise<Durability | undefined>;
	system: Pick<System, "now">;
}

/** Difference of two clocks that a question across a network may cause, in seconds. */
const CLOSE_S = 5;

/** Checks whether an answered write can be lost, the connection to the database, and its clock. */
export async function checkDurability({ durability, system }: DurabilityNeeds): Promise<Check[]> {
	const facts = await durability();
	if (facts === undefined) return [];
	const connection = facts.is_encrypted
		? "the connections to PostgreSQL use TLS"
		: "the connections to PostgreSQL stay on this machine";
	const clock = checkDatabaseClock(facts, system);
	return [checkCrash(facts), checkFailover(facts), ...checkHistory(facts), ok("database", connection), clock];
}

/** Checks that answered writes survive a crash of the database. */
function checkCrash({ fsync, full_page_writes, synchronous_commit }: Durability): Check {
	const isOff = {
		fsync: !fsync,
		full_page_writes: !full_page_writes,
		synchronous_commit: synchronous_commit === "off",
	};
	const off = Object.entries(isOff).flatMap(([name, is]) => (is ? [name] : []));
	if (off.length === 0) return ok("durability", "a crash of PostgreSQL or of its machine loses no answered write");
	const message = `a crash of PostgreSQL or of its machine loses answered writes: off are ${off.join(", ")}`;
	return { name: "durability", status: "failed", message, hint: "turn them on in PostgreSQL, then reload it" };
}

const STANDBY = "set synchronous_standby_names, or synchronous_mode in Patroni";

/** Checks that answered writes survive the loss of the database's machine. */
function checkFailover(facts: Durability): Check {
	const { names_standbys, standbys, synchronous_standbys, hidden_standbys, synchronous_commit, hosts } = facts;
	const warn = (message: string, hint: string): Check => ({ name: "durability", status: "warning", message, hint });
	if (!names_standbys && standbys === 0 && hosts === 1)
		return ok("durability", "there is no standby: if the disk of PostgreSQL is lost, so is what its backups lack");
	if (!names_standbys) return warn("a failover can lose answered writes: no standby is synchronous", STANDBY);
	if (!["on", "remote_apply"].includes(synchronous_commit))
		return warn(
			`a failover can lose answered writes: synchronous_commit is ${synchronous_commit}`,
			"set it to on in PostgreSQL, then reload it",
		);
	if (synchronous_standbys > 0)
		return ok("durability", "a failover loses no answered write: a synchronous standby confirms each one first");
	if (hidden_standbys > 0)
		return warn(
			"it is unknown whether a failover loses answered writes: the server's role may not see the standbys",
			"GRANT pg_monitor TO the server's role",
		);
	return warn("no synchronous standby is connected: writes wait until one is", "bring the standby back");
}

function checkHistory({ keeps_history }: Durability): Check[] {
	if (keeps_history) return [];
	const message = "the file database.history cannot be written: after a restart, lost writes would not be noticed";
	return [{ name: "durability", status: "failed", message, hint: "check the data directory's disk and permissions" }];
}

function checkDatabaseClock({ now_ms }: Durability, system: Pick<System, "now">): Check {
	const seconds = Math.round((system.now().getTime() - now_ms) / 1000);
	if (Math.abs(seconds) <= CLOSE_S) return ok("clock", "this machine and PostgreSQL agree on the time");
	const message = `this machine is ${Math.abs(seconds)} seconds ${seconds > 0 ? "ahead of" : "behind"} PostgreSQL, whose clock judges leases`;
	return { name: "clock", status: "warning", message, hint: "check both clocks: `timedatectl`" };
}
