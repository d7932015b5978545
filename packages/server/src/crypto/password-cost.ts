/** Cost of a password's hash: argon2id, 64 MiB, three passes, one lane: 40 ms. The binary that quick tests start has a lower one. Design: §6. */
export const COST = { memoryCost: 65_536, timeCost: 3, parallelism: 1 };

/** Start of every hash of this cost. */
export const PREFIX = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$`;
