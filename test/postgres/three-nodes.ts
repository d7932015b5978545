const api = (name: string) => `test/api/${name}.test.ts`;

/**
 * Test files that run with three servers: as many as take less than five minutes. Run others by hand, with SVC_TEST_NODES=3.
 * `TESTS_LEFT_OUT` has tests of them that cannot pass.
 */
export const FILES: readonly string[] = [
	...["secrets", "secret-versions", "deleted-secrets", "realms", "tokens", "token-lineage", "limited-tokens"].map(api),
	...["users", "policy", "registration", "invitations", "resets", "revoke", "trusts"].map(api),
	...["operator-sync", "audit-events", "health", "nodes", "backup-tokens"].map(api),
	"test/engines/keyvalue.test.ts",
	"test/hostile/races.test.ts",
	"test/run/lease.test.ts",
	"test/sso/oidc.test.ts",
];

/** Beginnings of the names of tests that fail with three servers, with the reason. */
export const TESTS_LEFT_OUT: Readonly<Record<string, string>> = {
	"exactly max_connections of two hundred": "each server counts its own refusals for its metrics",
	"a server that nobody shares a database with lists itself": "it lists three",
	"a backup token makes, lists and downloads backups": "a backup is a file on one server",
};

/** Test files that cannot pass with three servers, with the reason. */
export const FILES_LEFT_OUT: Readonly<Record<string, string>> = {
	"test/api/limits.test.ts": "fills a file of SQLite",
	"test/api/setup-code.test.ts": "compares the output and the files of one server",
	"test/api/thirty-days.test.ts": "starts a program of its own, with one server",
	"test/cli/administration.test.ts": "replaces the master key, for which every server needs the next one",
	"test/cli/story.test.ts": "runs local commands on the data directory, without the settings of the database",
	"test/console/leases.test.ts":
		"a message of the console is on the server that made it: a balancer keeps a browser at one",
	"test/console/localhost.test.ts": "changes the address that its server listens at",
	"test/engines/allowed-realms-upgrade.test.ts": "puts a file of SQLite in place",
	"test/engines/altered-database.test.ts": "alters a file of SQLite",
	"test/hostile/current-access.test.ts": "starts a program of its own, on SQLite",
	"test/hostile/factor-changes.test.ts": "starts a program of its own, on SQLite",
};
