/* The lists of black-box tests that run with three servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { files, read } from "../harness/sources.ts";
import { FILES, FILES_LEFT_OUT, TESTS_LEFT_OUT } from "./three-nodes.ts";

test("each file and test that the lists name exists, and no file is in both", () => {
	const left_out = Object.keys(FILES_LEFT_OUT);
	const missing = [...FILES, ...left_out].filter((file) => !files.includes(file));
	const both = FILES.filter((file) => left_out.includes(file));
	const texts = FILES.map(read);
	const unnamed = Object.keys(TESTS_LEFT_OUT).filter((name) => !texts.some((text) => text.includes(`test("${name}`)));
	assert.deepEqual({ missing, both, unnamed }, { missing: [], both: [], unnamed: [] });
});
