import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

process.once("exit", () => {
	for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Makes a private temporary folder that disappears when this process ends. Returns its path. */
export function scratchFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
	folders.push(folder);
	return folder;
}
