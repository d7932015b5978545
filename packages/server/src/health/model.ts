/** Reasons why a database that answers is not used, each with what to do. */
export const UNSUITABLE = {
	standby: "only a standby of PostgreSQL answers, which cannot be written: promote it, or bring the primary back",
	read_only: "PostgreSQL allows no writes: turn default_transaction_read_only off, or bring the primary back",
	other_database:
		"database_url leads to another PostgreSQL than before: name the right one, or accept this one with `svc nodes accept-loss`",
	old_primary:
		"only a former primary answers, from before a failover: make it a standby of the new one, or accept its state with `svc nodes accept-loss`",
	lost_answers:
		"the database lacks changes that were answered: bring back the one that has them, or accept the loss with `svc nodes accept-loss`",
} as const;

/** Reason why a database that answers is not used. */
export type Unsuitability = keyof typeof UNSUITABLE;
