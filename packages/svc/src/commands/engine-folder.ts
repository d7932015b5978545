import { hash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@svc/cli/failure";
import { DescriptorError, isObject, JsonError, MAX_DESCRIPTOR_BYTES, parseDescriptor, parseJson } from "@svc/protocol";
import { writeDurably } from "@svc/server/durable-file";

/** Largest program that the server runs. Design: §8 */
const MAX_PROGRAM_BYTES = 256 * 1024 * 1024;

/** An engine as its author delivers it. */
export interface Engine {
	readonly type: string;
	readonly version: string;
	/** The whole of plugin.json, including fields that only its author knows. */
	readonly json: Readonly<Record<string, unknown>>;
	readonly executable: string;
	readonly program: Buffer;
	/** SHA-256 of the program, in hex. */
	readonly sha256: string;
}

/** The installed engine, as far as it can be read. */
export interface Installed {
	readonly version?: string | undefined;
	readonly executable?: string | undefined;
	readonly sha256?: string | undefined;
}

/**
 * Reads an engine's folder.
 * @throws Failure when plugin.json is unusable, or its executable is no file in the folder
 */
export function readEngine(folder: string): Engine {
	const json = readJson(join(folder, "plugin.json"));
	const { name, version, executable } = describe(json);
	if (executable === undefined)
		throw new Failure("failed", "plugin.json names no executable", {
			hint: "the server runs one file: bundle or compile the engine, and name the file in `executable`",
		});
	const file = join(folder, executable);
	const stat = lstatSync(file, { throwIfNoEntry: false });
	if (stat?.isFile() !== true)
		throw new Failure("failed", "the executable that plugin.json names is no file in the folder", {
			hint: "build it, and put the file itself, not a link, next to plugin.json",
		});
	if (stat.size > MAX_PROGRAM_BYTES) throw new Failure("failed", "the executable is larger than 256 MiB");
	const program = readFileSync(file);
	const sha256 = hash("sha256", program);
	return { type: name, version, json, executable, program, sha256 };
}

function describe(json: unknown) {
	try {
		return parseDescriptor(json);
	} catch (error) {
		throw error instanceof DescriptorError ? new Failure("failed", error.message) : error;
	}
}

function readJson(file: string): Record<string, unknown> {
	const stat = lstatSync(file, { throwIfNoEntry: false });
	if (stat?.isFile() !== true || stat.size > MAX_DESCRIPTOR_BYTES)
		throw new Failure("failed", "there is no usable plugin.json in the folder", {
			hint: "`svc engine new` makes a folder that has one",
		});
	try {
		const json = parseJson(readFileSync(file));
		if (isObject(json)) return json;
	} catch (error) {
		if (error instanceof JsonError) throw new Failure("failed", `plugin.json ${error.message}`);
		throw error;
	}
	throw new Failure("failed", "plugin.json is not a JSON object");
}

/** Reads what `plugins_dir` has of this type; undefined when it has nothing. */
export function readInstalled(plugins_dir: string, type: string): Installed | undefined {
	const home = join(plugins_dir, type);
	if (lstatSync(home, { throwIfNoEntry: false }) === undefined) return undefined;
	try {
		return describe(readJson(join(home, "plugin.json")));
	} catch (error) {
		if (error instanceof Failure) return {};
		throw error;
	}
}

/**
 * Puts an engine where the server finds it. Renames plugin.json into place last: a server that starts meanwhile, or after a power
 * cut, finds the old engine or the new one. The program has its hash in its name, so that both can lie side by side.
 * @returns the engine's folder there
 * @throws Failure when `plugins_dir` is a link, or others may write to it
 * Design: §8
 */
export function putEngine(plugins_dir: string, { type, json, executable, program, sha256 }: Engine): string {
	if (mkdirSync(plugins_dir, { recursive: true }) !== undefined) chmodSync(plugins_dir, 0o755);
	refuseForeignHands(plugins_dir);
	const home = join(plugins_dir, type);
	mkdirSync(home, { recursive: true });
	chmodSync(home, 0o755);
	const before = readInstalled(plugins_dir, type)?.executable;
	const name = `${sha256.slice(0, 12)}-${executable.slice(-80)}`;
	writeDurably(join(home, name), program, 0o555);
	const described = { ...json, executable: name, sha256 };
	writeDurably(join(home, "plugin.json"), `${JSON.stringify(described, null, "\t")}\n`, 0o444);
	if (before !== undefined && before !== name) rmSync(join(home, before), { force: true });
	return home;
}

function refuseForeignHands(plugins_dir: string): void {
	const stat = lstatSync(plugins_dir);
	if (!stat.isDirectory())
		throw new Failure("failed", "the folder of engines is a link: others may be able to change what it points to", {
			hint: "replace it with a folder, or name the folder itself with --plugins-dir",
		});
	if ((stat.mode & 0o022) === 0) return;
	throw new Failure(
		"failed",
		"the folder of engines can be written by its group or by others: no engine in it is used",
		{ hint: `chmod go-w ${plugins_dir}` },
	);
}
