/** Result of a check. It contains no part of a secret. */
export interface Check {
	/** Name such as `clock`, or `keyvalue` for an engine. */
	name: string;
	/** `warning`: it works but should be changed. `failed`: somebody has to act. */
	status: "ok" | "warning" | "failed";
	/** Finding in a sentence. */
	message: string;
	/** Advice on what to do about it; empty when there is nothing to do. */
	hint: string;
}

/** Makes the result of a check that found no problem. */
export function ok(name: string, message: string): Check {
	return { name, status: "ok", message, hint: "" };
}

/** Facts that decide whether a database on the network may lose an answered write. */
export interface Durability {
	fsync: boolean;
	full_page_writes: boolean;
	/** As PostgreSQL names it: `on`, `off`, `local`, `remote_write` or `remote_apply`. */
	synchronous_commit: string;
	/** Whether synchronous_standby_names is set. */
	names_standbys: boolean;
	/** Standbys that are connected, those of them that confirm each commit, and those whose state the server's role may not see. */
	standbys: number;
	synchronous_standbys: number;
	hidden_standbys: number;
	/** Whether the server's connections use TLS. */
	is_encrypted: boolean;
	/** Its clock, in Unix milliseconds. */
	now_ms: number;
	/** Number of hosts that the server may reach it at. */
	hosts: number;
	/** Whether the server can write the file by which it notices a loss after a restart. */
	keeps_history: boolean;
}
