/* Black-box tests of every kind, with the data of each of their servers on PostgreSQL. */
import { test } from "node:test";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { runOnPostgres } from "./black-box.ts";

/** Few files, so that it takes less than two minutes: every other one that looks at no file of SQLite passes, too. */
const FILES = [
	...["secrets", "realms", "tokens", "deleted-secrets", "users", "operator-sync", "audit-events"].map(
		(name) => `test/api/${name}.test.ts`,
	),
	"test/engines/keyvalue.test.ts",
	"test/hostile/paths.test.ts",
	"test/run/lease.test.ts",
];

test("black-box tests pass with PostgreSQL in place of SQLite", { skip: skipWithoutPostgres }, () =>
	runOnPostgres(FILES),
);
