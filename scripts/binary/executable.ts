import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { type Build, readBuild } from "../../packages/server/src/health/build.ts";
import { describeOwnSchema } from "../../packages/server/src/store/sqlite/schema-alterations.ts";
import { bundle } from "./bundle.ts";
import { compileRepeatably, compileScripts } from "./compiled.ts";
import { runTool } from "./tool.ts";

/** Architectures of Node and of the packages with native libraries. */
const ARCHITECTURES = ["x64", "arm64"];

/** Choices of how the binary is made. */
interface Making {
	/** True if the same commit is to give the same bytes on the same machine, for a slower start. */
	readonly isRepeatable?: boolean;
	/** Receives each step before it begins. */
	readonly onStep?: (step: string) => void;
}

/** A finished single binary. */
export interface Executable {
	file: string;
	/** Such as `svc-0.1.0-linux-x64`. */
	name: string;
	/** Folders of the packages in it. */
	packages: readonly string[];
	/** Native libraries in it, by the names of their assets: their files among the packages. */
	addons: Readonly<Record<string, string>>;
}

/**
 * Makes the single binary for this machine, from the running Node: a stripped copy of it with the bundle inside.
 * It cannot cross-compile, because the bundle contains V8's compiled code.
 * https://nodejs.org/api/single-executable-applications.html
 * @param folder for the result, `svc`; it exists
 * @throws Error naming what is missing
 */
export async function makeExecutable(
	folder: string,
	{ isRepeatable = false, onStep = () => undefined }: Making = {},
): Promise<Executable> {
	if (process.platform !== "linux" || !ARCHITECTURES.includes(process.arch))
		throw new Error(
			`the binary is made on Linux, x64 or arm64, for the same; this is ${process.platform} ${process.arch}`,
		);
	const file = join(resolve(folder), "svc");
	const scratch = mkdtempSync(join(resolve(folder), ".binary-"));
	try {
		const build = readBuild();
		onStep("bundling");
		const bundled = await bundle(scratch, constantsOf(build));
		const { main, packages } = bundled;
		const addons = Object.fromEntries(Object.entries(bundled.assets).filter(([name]) => name.endsWith(".node")));
		onStep("compiling");
		const compile = isRepeatable ? compileRepeatably : compileScripts;
		const assets = inOrder({ ...compressed(bundled.assets, scratch), ...(await compile(bundled, scratch)) });
		const executable = join(scratch, "node");
		onStep("putting it together");
		// 33 MB of symbols.
		runTool("strip", ["-o", executable, process.execPath]);
		const configuration = join(scratch, "sea.json");
		// The script's path, as given, is in the binary: it reveals nothing about its maker.
		const script = relative(scratch, main);
		writeFileSync(configuration, JSON.stringify({ main: script, assets, executable, output: file, ...SEA }));
		rmSync(file, { force: true });
		runTool(process.execPath, ["--build-sea", configuration], { cwd: scratch });
		if (!existsSync(file)) throw new Error(`this Node, ${process.version}, made no binary: Node 26 is needed`);
		return { file, name: `svc-${build.version}-${process.platform}-${process.arch}`, packages, addons };
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

/** Global names in the sources, and their values in the binary. */
export function constantsOf(build: Build): Record<string, unknown> {
	return { SVC_BUILD: build, SVC_SCHEMA: JSON.stringify([...describeOwnSchema()]) };
}

/** Files that browsers get, and their size from which on they are compressed: `readAsset` decompresses them. */
const PUBLIC = /\.(js|css)$/;
const LARGE_BYTES = 65_536;

/** Compresses large files for browsers: a start does not read them. @param folder for the results */
function compressed(assets: Record<string, string>, folder: string): Record<string, string> {
	const entries = Object.entries(assets).map(([name, file]) => {
		if (!PUBLIC.test(name) || statSync(file).size < LARGE_BYTES) return [name, file];
		const packed = join(folder, `${basename(file)}.gz`);
		writeFileSync(packed, gzipSync(readFileSync(file), { level: 9 }));
		return [name, packed];
	});
	return Object.fromEntries(entries);
}

/** The bundler finds files in an order of its own. */
function inOrder(assets: Record<string, string>): Record<string, string> {
	return Object.fromEntries(Object.entries(assets).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Only the environment gives Node options, as for the server's engines: an argument that a script takes from elsewhere must not load code. */
const SEA = {
	disableExperimentalSEAWarning: true,
	execArgv: ["--disable-warning=ExperimentalWarning"],
	execArgvExtension: "env",
};
