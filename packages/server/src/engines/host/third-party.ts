import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
	type Descriptor,
	DescriptorError,
	engineCapabilities,
	MAX_DESCRIPTOR_BYTES,
	parseDescriptor,
	parseJson,
} from "@svc/protocol";
import type { Log } from "../../log.ts";
import type { Kind, KindOf } from "../kinds/kind.ts";
import type { CatalogEntry } from "./model.ts";
import { pinExecutable, Refusal, refuseWritableByOthers } from "./pin.ts";

/** Shape of a type, and so of a folder's name. */
const TYPE = /^[a-z][a-z0-9-]{0,39}$/;

interface ThirdPartyOptions {
	plugins_dir: string;
	/** Folder for the copies. */
	pinned_dir: string;
	/** Types that come with the server. */
	built_in: ReadonlySet<string>;
	kindOf: KindOf;
	log: Log;
}

/**
 * Reads the engines of a folder, in the order of their names. A refused one has the reason; a folder without a readable plugin.json is only
 * logged.
 * Design: §8
 */
export function loadThirdParty(options: ThirdPartyOptions): CatalogEntry[] {
	const { plugins_dir, log } = options;
	const entries: CatalogEntry[] = [];
	for (const name of foldersOf(plugins_dir, log)) {
		const folder = join(plugins_dir, name);
		const plugin = TYPE.test(name) ? readPlugin(folder) : undefined;
		if (plugin === undefined) {
			log("warn", "engine.ignored", {
				file: folder,
				message: "it has no readable plugin.json, or its name is not valid",
			});
			continue;
		}
		const entry = entryOf(name, plugin, options);
		if (entry.unavailable !== undefined) log("warn", "engine.refused", { engine: name, message: entry.unavailable });
		entries.push(entry);
	}
	return entries;
}

function foldersOf(plugins_dir: string, log: Log): string[] {
	try {
		const found = readdirSync(plugins_dir, { withFileTypes: true });
		return found.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
	} catch (error) {
		const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
		if (!isAbsent) log("error", "engine.ignored", { file: plugins_dir, message: "the folder cannot be read", error });
		return [];
	}
}

/** @returns the JSON of plugin.json, or undefined when there is none */
function readPlugin(folder: string): { json: unknown } | undefined {
	const file = join(folder, "plugin.json");
	try {
		const stat = statSync(file);
		if (!stat.isFile() || stat.size > MAX_DESCRIPTOR_BYTES) return undefined;
		return { json: parseJson(readFileSync(file)) };
	} catch {
		return undefined;
	}
}

function entryOf(type: string, { json }: { json: unknown }, options: ThirdPartyOptions): CatalogEntry {
	const kind = options.kindOf(type, false);
	let descriptor = placeholder(type);
	try {
		if (options.built_in.has(type)) throw new Refusal("the server has a built-in engine of this type");
		descriptor = parseDescriptor(json);
		if (descriptor.name !== type) throw new Refusal("the name in plugin.json differs from the folder's");
		const folder = join(options.plugins_dir, type);
		refuseWritableByOthers(options.plugins_dir, "the folder of all engines");
		refuseWritableByOthers(folder, "its folder");
		refuseWritableByOthers(join(folder, "plugin.json"), "plugin.json");
		const file = pinExecutable(folder, descriptor, join(options.pinned_dir, type));
		return { ...entry(type, descriptor, kind), launch: () => ({ file, arguments: descriptor.arguments }) };
	} catch (error) {
		return { ...entry(type, descriptor, kind), unavailable: reasonOf(error) };
	}
}

/** Explains why an engine is refused: any error concerns this engine only. */
function reasonOf(error: unknown): string {
	if (error instanceof Refusal || error instanceof DescriptorError) return error.message;
	const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
	return `its files cannot be read or copied (${code})`;
}

function entry(type: string, descriptor: Descriptor, kind: Kind): CatalogEntry {
	const network = engineCapabilities(descriptor).includes("dynamic_credentials");
	const launch = () => {
		throw new Error(`engine ${type} is unavailable`);
	};
	return { type, descriptor, kind, is_built_in: false, is_restricted: false, network, unavailable: undefined, launch };
}

/** Makes the descriptor of an engine without a usable plugin.json. */
function placeholder(type: string): Descriptor {
	return {
		name: type,
		version: "0.0.0",
		display_name: type,
		description: "",
		sdk_version: 1,
		min_core_version: "0.0.0",
		capabilities: [],
		tier: "",
		config_schema: { type: "object", properties: {}, required: [] },
		default_roles: [],
		arguments: [],
	};
}
