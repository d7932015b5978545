/** Reasons why a database does not work: fixed words, for everybody. */
export const STORE_REASONS = [
	"unreachable",
	"starting",
	"refused",
	"certificate",
	"too_many_connections",
	"standby",
	"old_primary",
	"other_database",
	"lost_answers",
	"unsuitable",
	"read_only",
	"full",
	"locked",
	"resources",
	"slow",
] as const;

/** Reason why a database does not work. */
export type StoreReason = (typeof STORE_REASONS)[number];

/** State of the storage, for people. */
export interface StoreState {
	type: "sqlite" | "postgresql";
	/** `away` while the database cannot be reached, `failing` while it takes no changes, `slow` while it takes long to answer. */
	status: "healthy" | "slow" | "failing" | "away";
	reason?: StoreReason;
	/** Start of a status other than `healthy`, ISO 8601 UTC. */
	since?: string;
}

/** Trouble of the storage, for people. */
export interface Trouble {
	message: string;
	/** Advice on what to do about it. */
	hint: string;
}

const TROUBLES: Readonly<Record<StoreReason, Trouble>> = {
	unreachable: { message: "PostgreSQL does not answer", hint: "start it, or repair the network to it" },
	starting: { message: "PostgreSQL is starting or stopping", hint: "wait, and look at PostgreSQL's log" },
	refused: {
		message: "PostgreSQL refuses the server's role, its password or its machine",
		hint: "compare pg_hba.conf, the role and its password with database_url and database_password_file, which is read again for each connection",
	},
	certificate: {
		message: "PostgreSQL's certificate is not valid for the host in database_url",
		hint: "renew it, or put its authority into the file that sslrootcert names",
	},
	too_many_connections: {
		message: "PostgreSQL has no connection left",
		hint: "raise max_connections or the role's limit, or end other programs: each server of svc needs 9 connections",
	},
	standby: {
		message: "only a standby of PostgreSQL answers, which cannot be written",
		hint: "promote it, or bring the primary back",
	},
	old_primary: {
		message: "only a former primary answers, from before a failover",
		hint: "make it a standby of the new one, or accept its state with `svc nodes accept-loss`",
	},
	other_database: {
		message: "database_url leads to another PostgreSQL than before",
		hint: "name the right one, or accept this one with `svc nodes accept-loss`",
	},
	lost_answers: {
		message: "the database lacks changes that were answered",
		hint: "bring back the one that has them, or accept the loss with `svc nodes accept-loss`",
	},
	unsuitable: {
		message: "database_url leads to a database that the server cannot use",
		hint: "restart the server: it then says why",
	},
	read_only: {
		message: "PostgreSQL is read-only",
		hint: "reset default_transaction_read_only and reload PostgreSQL's settings, or bring the primary back",
	},
	full: { message: "PostgreSQL's disk is full", hint: "make room on it; remove nothing from its data directory" },
	locked: {
		message: "another program has locked the database",
		hint: "find it with pg_blocking_pids() in pg_stat_activity, and end it",
	},
	resources: {
		message: "PostgreSQL lacks memory, or cannot read or write its files",
		hint: "look at PostgreSQL's log",
	},
	slow: {
		message: "PostgreSQL takes long to answer",
		hint: "look at the load and the disk of its machine, and at the network to it",
	},
};

/** Explains a reason in one line. */
export function textOf(reason: StoreReason): string {
	return `${TROUBLES[reason].message}: ${TROUBLES[reason].hint}`;
}

/** Explains the state of the storage; undefined while it works. */
export function troubleOf({ reason }: StoreState): Trouble | undefined {
	return reason && TROUBLES[reason];
}
