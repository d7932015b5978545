/* Black-box tests, in which each address leads to three servers that share a database and take turns. */
import { test } from "node:test";
import { skipWithoutPostgres } from "../peers/postgres.ts";
import { runOnPostgres } from "./black-box.ts";
import { FILES, TESTS_LEFT_OUT } from "./three-nodes.ts";

test("black-box tests pass with three servers behind one address", { skip: skipWithoutPostgres }, () =>
	runOnPostgres(FILES, 3, Object.keys(TESTS_LEFT_OUT)),
);
