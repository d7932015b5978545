import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Descriptor } from "@svc/protocol";
import type { Log } from "../../log.ts";
import { builtInEntry } from "./built-in.ts";
import { loadThirdParty } from "./third-party.ts";

/** How a process of an engine is started. */
export interface Launch {
	file: string;
	arguments: string[];
	/** What Node is told by its environment, where it is no program of its own that takes arguments. */
	node_options?: string;
}

/** An engine that comes with the server. */
export interface BuiltInEngine {
	/** The content of its plugin.json. */
	descriptor: unknown;
	/** Whether it may open connections. */
	network: boolean;
	/** Without the flags that restrict what Node lets it do. */
	launch: Launch;
	/**
	 * How Node, which then restricts it, is told with what: by arguments, or, as the single binary, by NODE_OPTIONS. False when `launch.file` is another program.
	 */
	node: "arguments" | "environment" | false;
	/** Files and folders that its program consists of. */
	reads?: readonly string[];
}

/** An engine that the server knows, usable or not. */
export interface CatalogEntry {
	type: string;
	descriptor: Descriptor;
	is_built_in: boolean;
	/** Whether it is a program of ours, which Node restricts. Its answers need not be watched for being in step with the requests. */
	is_restricted: boolean;
	/** Whether it talks to a system of its own, and so may take longer. Of a third party's it is believed when it makes credentials. */
	network: boolean;
	/** Why it is never asked; undefined when it can be. */
	unavailable: string | undefined;
	/** How to start it. @param reads files and folders that it may read beside its own program */
	launch(reads: readonly string[]): Launch;
}

/** The engines that the server knows. */
export interface Catalog {
	/** Those that come with the server, then those of `plugins_dir`, by name. Also those that cannot be used. */
	list(): CatalogEntry[];
	get(type: string): CatalogEntry | undefined;
	/** An empty folder that nobody may write: where processes start. */
	readonly cwd: string;
	/** Removes the copies of third parties' programs. No process may run any more. */
	close(): void;
}

interface CatalogOptions {
	built_in: readonly BuiltInEngine[];
	/** Folder with a folder for each third party's engine; it may be absent. */
	plugins_dir: string;
	/** Private folder, on a file system that programs can be started from; the folder `engines` in it is emptied. */
	runtime_dir: string;
	log: Log;
}

/**
 * Finds the engines. A third party's program is copied and checked against its hash once; the copy is what runs. A broken one is listed
 * with the reason, and stops nothing.
 * @throws DescriptorError when an engine that comes with the server is broken
 * Design: §8
 */
export function loadCatalog({ built_in, plugins_dir, runtime_dir, log }: CatalogOptions): Catalog {
	const folder = join(runtime_dir, "engines");
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	chmodSync(folder, 0o700);
	const cwd = join(folder, "empty");
	mkdirSync(cwd, { mode: 0o500 });
	const ours = built_in.map(builtInEntry);
	const types = new Set(ours.map(({ type }) => type));
	const foreign = loadThirdParty({ plugins_dir, pinned_dir: join(folder, "pinned"), built_in: types, log });
	const entries = [...ours, ...foreign];
	const byType = new Map([...foreign, ...ours].map((entry) => [entry.type, entry]));
	return {
		list: () => [...entries],
		get: (type) => byType.get(type),
		cwd,
		close: () => rmSync(folder, { recursive: true, force: true }),
	};
}
