import { relative } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { countFor } from "./processor-time.mjs";

/**
 * Loads test files, each as a suite, so that its hooks are for its own tests. They run when all are loaded: none runs, with clocks of its own
 * perhaps, while another file starts what it needs.
 * @param {readonly string[]} files their addresses
 * @param {string} root the repository: names of files are relative to it
 */
export async function loadFiles(files, root) {
	const loaded = Promise.withResolvers();
	test("all files of the process are loaded", () => loaded.promise);
	for (const file of files) {
		const { promise, resolve } = Promise.withResolvers();
		const name = relative(root, fileURLToPath(file));
		describe(name, () => {
			before(() => countFor(name));
			return import(file).finally(resolve);
		});
		await promise;
	}
	loaded.resolve(undefined);
}
