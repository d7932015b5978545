import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeArchive } from "../../scripts/binary/archive.ts";
import { linksOf, textOf } from "../docs/markdown.ts";

const skip = spawnSync("xz", ["--version"]).status === 0 ? false : "xz is not installed: apt-get install xz-utils";

/** Pages of people who work on the code, which is not in the archive. */
const ABOUT_THE_CODE = /^(CONTRIBUTING\.md|packages\/.*)$/;

test("the archive has every page that its README links to, except those about the code", { skip }, () => {
	const folder = mkdtempSync(join(tmpdir(), "svc-archive-"));
	try {
		const file = join(folder, "svc");
		writeFileSync(file, "");
		const archive = makeArchive({ file, name: "svc-test", packages: [], addons: {} }, folder, new Date(0));
		const packed = execFileSync("tar", ["-tf", archive], { encoding: "utf8" }).split("\n");
		const pages = linksOf(textOf("README.md")).map((link) => link.replace(/#.*/, ""));
		const missing = pages.filter((page) => page !== "" && !packed.includes(`svc-test/${page}`));
		assert.ok(pages.includes("docs/install.md"));
		assert.deepEqual(
			missing.filter((page) => !ABOUT_THE_CODE.test(page)),
			[],
		);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
});
