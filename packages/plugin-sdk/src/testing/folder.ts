import { createHash } from "node:crypto";
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
	type Descriptor,
	DescriptorError,
	JsonError,
	MAX_DESCRIPTOR_BYTES,
	parseDescriptor,
	parseJson,
} from "@svc/protocol";
import type { User } from "./engine-process.ts";
import { Finding } from "./finding.ts";

/** This Node; svc's single binary runs no other script, and takes the one on the PATH. */
const NODE = process.getBuiltinModule?.("node:sea").isSea() === true ? "node" : process.execPath;

/** An engine ready to start. */
export interface Startable {
	descriptor: Descriptor;
	command: readonly string[];
	/** Its working directory; by default this process's own. */
	cwd: string | undefined;
}

/**
 * Reads an engine's folder and prepares its executable as the server does: a copy of that one file in its own folder, started in an
 * empty one. A folder whose plugin.json names no executable has a main.ts, which this Node runs in place.
 * @param scratch an empty folder
 * @param user who must be able to run it, if not this process's own user
 * @throws Finding
 */
export function openFolder(directory: string, scratch: string, user?: User): Startable {
	const descriptor = readDescriptor(join(directory, "plugin.json"));
	const cwd = join(scratch, "empty");
	mkdirSync(cwd);
	if (descriptor.executable === undefined) {
		return { descriptor, command: [NODE, mainOf(directory)], cwd };
	}
	const copy = join(scratch, descriptor.executable);
	writeFileSync(copy, readExecutable(directory, descriptor.executable, descriptor.sha256));
	chmodSync(copy, 0o500);
	// From the inside out: in a folder that the user owns already, a link could replace a file, and root would follow it.
	if (user !== undefined) for (const path of [copy, cwd, scratch]) chownSync(path, user.uid, user.gid);
	return { descriptor, command: [copy, ...descriptor.arguments], cwd };
}

function readDescriptor(file: string): Descriptor {
	const remedy = "the README of @svc/protocol names every field of plugin.json";
	if (!isFile(file)) throw new Finding("there is no file plugin.json in the folder", remedy);
	if (lstatSync(file).size > MAX_DESCRIPTOR_BYTES) throw new Finding("plugin.json is longer than 256 KiB", remedy);
	try {
		return parseDescriptor(parseJson(readFileSync(file)));
	} catch (error) {
		if (error instanceof JsonError) throw new Finding(`plugin.json ${error.message}`, remedy);
		if (error instanceof DescriptorError) throw new Finding(error.message, remedy);
		throw error;
	}
}

function mainOf(directory: string): string {
	const main = resolve(directory, "main.ts");
	if (existsSync(main)) return main;
	throw new Finding(
		"plugin.json names no executable, and there is no main.ts",
		'add "executable" with the name of a file in the same folder',
	);
}

function readExecutable(directory: string, executable: string, sha256: string | undefined): Buffer {
	const file = join(directory, executable);
	if (!isFile(file)) {
		throw new Finding(
			"the executable that plugin.json names is no file in the folder",
			"put the file itself, not a link, next to plugin.json",
		);
	}
	if ((lstatSync(file).mode & 0o111) === 0) {
		throw new Finding("the executable may not be executed", `run: chmod +x ${executable}`);
	}
	const content = readFileSync(file);
	if (sha256 !== undefined && createHash("sha256").update(content).digest("hex") !== sha256) {
		throw new Finding(
			"sha256 of plugin.json is not that of the executable",
			`write what sha256sum ${executable} prints`,
		);
	}
	return content;
}

function isFile(file: string): boolean {
	return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
}
