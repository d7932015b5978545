import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { bundle } from "../../scripts/binary/bundle.ts";

test("the scripts of the single binary are ASCII: a start reads each byte as a character", async () => {
	const folder = mkdtempSync(join(tmpdir(), "svc-bundle-"));
	try {
		const { main, assets, scripts } = await bundle(folder, { SVC_BUILD: {} });
		for (const file of [main, ...scripts.map((name) => assets[name] ?? "")]) {
			const strange = /.{0,40}[^\0-\x7f].{0,40}/.exec(readFileSync(file, "utf8"));
			assert.equal(strange?.[0], undefined, file);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});
