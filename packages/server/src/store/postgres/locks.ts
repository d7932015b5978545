/** First of the two numbers that advisory locks of svc have: other programs may have locks in the same database. "svc" in ASCII. */
const SVC = 0x73_76_63;

/**
 * Waits until nobody else changes the database, and lets nobody change it until the transaction ends. A statement of its own: what a statement sees is
 * settled when it begins, so one that waited for the lock would not see what its last holder wrote.
 */
export const CHANGES_LOCK = `SELECT pg_advisory_xact_lock(${SVC}, 1)`;

/** Waits while another server makes the first keys, and keeps others from making any until the transaction ends. */
export const FIRST_KEYS_LOCK = `SELECT pg_advisory_xact_lock(${SVC}, 3)`;

/** Takes the database for one server, as long as the connection lasts. */
export const SERVER_LOCK = `SELECT pg_advisory_lock(${SVC}, 2)`;

/** Takes the database for one server, if nobody uses it. */
export const TRY_SERVER_LOCK = `SELECT pg_try_advisory_lock(${SVC}, 2) AS is_first`;

/** Leaves what was taken for one server. */
export const LEAVE_SERVER_LOCK = `SELECT pg_advisory_unlock(${SVC}, 2)`;

/** Takes the database together with other servers that share it, and for none that wants it alone. */
export const SHARED_SERVER_LOCK = `SELECT pg_advisory_lock_shared(${SVC}, 2)`;
