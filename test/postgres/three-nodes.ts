const api = (name: string) => `test/api/${name}.test.ts`;

/**
 * Test files that run with three servers: as many as take less than five minutes. Run others by hand, with SVC_TEST_NODES=3.
 * `LEFT_OUT` has tests of them that cannot pass.
 */
export const FILES: readonly string[] = [
	...["secrets", "secret-versions", "deleted-secrets", "realms", "tokens", "token-lineage", "limited-tokens"].map(api),
	...["users", "policy", "registration", "invitations", "resets", "revoke", "trusts"].map(api),
	...["operator-sync", "audit-events", "health", "nodes", "backup-tokens"].map(api),
	"test/engines/keyvalue.test.ts",
	"test/hostile/races.test.ts",
	"test/run/lease.test.ts",
];

/** Names of tests that fail with three servers, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
	"exactly max_connections of two hundred at once are made": "each server counts its own refusals for its metrics",
	"a JWT that may be used again and comes from a second source":
		"each server remembers by itself where a JWT came from, so that the second source is noticed later",
	"a server that nobody shares a database with lists itself": "it lists three",
	"a backup token makes, lists and downloads backups": "a backup is a file on one server",
};
