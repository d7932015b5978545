import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { makeTemporary } from "./temporary.ts";

test("the folder is in TMPDIR if that is set, may be passed through by other users, and is removed", (t) => {
	const TMPDIR = mkdtempSync(join(tmpdir(), "svc-temporary-"));
	t.after(() => rmSync(TMPDIR, { recursive: true }));
	const folder = makeTemporary({ TMPDIR }, { inMemory: true });
	assert.equal(dirname(folder.path), TMPDIR);
	assert.equal(statSync(folder.path).mode & 0o777, 0o711);
	folder[Symbol.dispose]();
	assert.equal(existsSync(folder.path), false);
});

test("the folder is not in memory when that is not wanted", () => {
	using folder = makeTemporary({}, { inMemory: false });
	assert.equal(dirname(folder.path), tmpdir());
});
