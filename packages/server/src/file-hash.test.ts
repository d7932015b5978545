import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hashFile, hashFileSync } from "./file-hash.ts";
import { makeFolder } from "./testing/store.ts";

test("a file's hash covers its bytes in any number of parts, or only its beginning", async (t) => {
	const file = join(await makeFolder(t), "file");
	for (const size of [0, 1, 65_536, 200_000]) {
		const bytes = randomBytes(size);
		writeFileSync(file, bytes);
		assert.deepEqual([await hashFile(file), hashFileSync(file)], Array(2).fill(hash("sha256", bytes)), `${size}`);
		const half = Math.floor(size / 2);
		assert.equal(await hashFile(file, half), hash("sha256", bytes.subarray(0, half)), `half of ${size}`);
	}
});
