import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../log.ts";
import type { KindOf } from "../kinds/kind.ts";
import { builtInEntry } from "./built-in.ts";
import type { BuiltInEngine, CatalogEntry } from "./model.ts";
import { loadThirdParty } from "./third-party.ts";

/** The engines that the server knows. */
export interface Catalog {
	/** Lists those that come with the server, then those of `plugins_dir`, by name, including unusable ones. */
	list(): CatalogEntry[];
	readonly byType: ReadonlyMap<string, CatalogEntry>;
	/** Empty, read-only folder in which processes start. */
	readonly cwd: string;
	/** Removes the copies of third parties' programs. All processes must have ended. */
	close(): void;
}

interface CatalogOptions {
	built_in: readonly BuiltInEngine[];
	kindOf: KindOf;
	/** Folder with a folder for each third party's engine; it may be absent. */
	plugins_dir: string;
	/** Private folder, on a file system that allows execution; its folder `engines` is emptied. */
	runtime_dir: string;
	log: Log;
}

/**
 * Finds the engines. A third party's program is copied and checked against its hash once; the copy runs. A broken one is listed with the
 * reason, and stops nothing.
 * @throws DescriptorError when an engine that comes with the server is broken
 * Design: §8
 */
export function loadCatalog({ built_in, kindOf, plugins_dir, runtime_dir, log }: CatalogOptions): Catalog {
	const folder = join(runtime_dir, "engines");
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	chmodSync(folder, 0o700);
	const cwd = join(folder, "empty");
	mkdirSync(cwd, { mode: 0o500 });
	const ours = built_in.map((engine) => builtInEntry(engine, kindOf));
	const types = new Set(ours.map(({ type }) => type));
	const foreign = loadThirdParty({ plugins_dir, pinned_dir: join(folder, "pinned"), built_in: types, kindOf, log });
	const entries = [...ours, ...foreign];
	return {
		list: () => [...entries],
		byType: new Map([...foreign, ...ours].map((entry) => [entry.type, entry])),
		cwd,
		close: () => rmSync(folder, { recursive: true, force: true }),
	};
}
