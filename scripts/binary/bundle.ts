import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type OnLoadResult, type Plugin } from "esbuild";

/** The repository. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const ADDON_LOADER = join(ROOT, "packages/svc/src/addon.ts");
const SCRIPT_LOADER = join(ROOT, "packages/svc/src/script.ts");

/** Modules that are separate scripts wherever `await import()` names them, so that a run reads and compiles only its needs. They share no object with importers. */
const SCRIPT =
	/^(packages\/svc\/src\/(server|client)|packages\/server\/src\/(factors\/webauthn|console\/qr-code)|packages\/x509\/src\/new-authority|plugins\/\w+\/main)\.ts$/;
const THREAD = /-thread\.ts$/;

/** Packages that few servers load: each is a script of its own, run where a source of ours imports it. */
export const PACKAGES = ["redis", "mongodb", "pg", "execa"];
const PACKAGE = new RegExp(`^(${PACKAGES.join("|")})$`);
const isScript = (name: string) => SCRIPT.test(name) || THREAD.test(name) || PACKAGE.test(name);

/** `startThread(new URL("./x-thread.ts", import.meta.url)`, `readAsset(new URL(import.meta.resolve("a-package/x.css"))`. */
const SHIPPED_FILE =
	/\b(startThread|readAsset)\(\s*new URL\((?:import\.meta\.resolve\("([^"]+)"\)|"([^"]+)",\s*import\.meta\.url)\)/g;

/** Of a package whose parts are named in this way, the bundle takes only these parts. */
const PARTS = /^export const (\{[^}]+\}) =\s+require\(("[^"]+")\) as typeof import\(\2\);$/gm;

/** The bundler does not see a `require` made by Node; without this line it is the bundler's own. */
const OWN_REQUIRE = /^const require = createRequire\(import\.meta\.url\);$/m;

/** Code that would look for a file next to a source, and the only sources that may: there, the binary takes another path. */
const BESIDE_SOURCE = /\bimport\.meta\.(url|dirname|filename|resolve)\b|\bcreateRequire\(/;
const COMMENT = /\/\*.*?\*\/|^\s*\/\/.*$/gms;
const REMEDY = "startThread and readAsset of asset.ts reach files";
const NOT_IN_BINARY = /^packages\/(svc\/src\/built-in-engines|server\/src\/health\/build)\.ts$/;

/** Packages whose native libraries are bundled without the script that looks for them. */
const NATIVE = ["better-sqlite3", "@node-rs/argon2"];
const ofServer = (name: string) => createRequire(join(ROOT, "packages/server/package.json")).resolve(name);

/** The parts of the single binary. */
export interface Bundle {
	/** The script that starts first. */
	main: string;
	/** Files in it, by name: scripts, native libraries, and files for `readAsset`. */
	assets: Record<string, string>;
	/** Names of the scripts that `runScript` runs, threads and packages included. */
	scripts: string[];
	/** Folders of the packages in it, sorted. */
	packages: string[];
}

/**
 * Bundles the executable, and all that it names, for this machine.
 * @param folder for the scripts
 * @param constants global names and their replacements
 * @throws Error when a source names a file in a way that the bundle cannot follow
 */
export async function bundle(folder: string, constants: Record<string, unknown>): Promise<Bundle> {
	const assets: Record<string, string> = {};
	const inputs = new Set<string>();
	const waiting = ["packages/svc/src/main.ts"];
	const outfileOf = (name: string) => join(folder, `${name.replaceAll("/", "-")}.cjs`);
	const keep = (name: string, file: string) => {
		if (name in assets) return;
		const isOurs = isScript(name);
		assets[name] = isOurs ? outfileOf(name) : file;
		if (isOurs) waiting.push(name);
	};
	const [main = ""] = waiting;
	for (let name = waiting.pop(); name !== undefined; name = waiting.pop())
		for (const input of await bundleOne(name, outfileOf(name), constants, keep)) inputs.add(input);
	const scripts = Object.keys(assets).filter(isScript);
	return {
		main: outfileOf(main),
		assets,
		scripts,
		packages: packagesOf([...inputs, ...Object.values(assets), ...NATIVE.map(ofServer)]),
	};
}

/** Scripts of the server that run in every one. */
const LONG_LIVED = /^packages\/(svc\/src\/server|server\/src\/.*-thread)\.ts$/;

/** Shortens names in the text, and gives functions theirs where they are made, for messages: each takes time and memory, so the server's are not shortened. */
const SHORT_NAMES = { minifyIdentifiers: true, keepNames: true };

/** `runScript` calls it with the parameters of CommonJS. */
const FUNCTION = { banner: { js: "(function (exports, require, module) {" }, footer: { js: "})" } };

/** @returns the files that went into it */
async function bundleOne(
	name: string,
	outfile: string,
	constants: Record<string, unknown>,
	keep: (name: string, file: string) => void,
): Promise<string[]> {
	const define = Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, JSON.stringify(value)]));
	const { metafile } = await build({
		entryPoints: [PACKAGE.test(name) ? ofServer(name) : join(ROOT, name)],
		outfile,
		bundle: true,
		platform: "node",
		format: "cjs",
		target: `node${process.versions.node}`,
		// A script with a code cache may not import Node's modules; require does the same.
		supported: { "dynamic-import": false },
		minifyWhitespace: true,
		minifySyntax: true,
		...(LONG_LIVED.test(name) ? {} : SHORT_NAMES),
		legalComments: "none",
		...(isScript(name) ? FUNCTION : {}),
		metafile: true,
		absWorkingDir: ROOT,
		define: { ...define, "import.meta.main": "false", "import.meta.url": '"file:///"', "import.meta.dirname": '"/"' },
		plugins: [separateScripts(keep), nativeLibraries(keep), ourSources(keep)],
		logLevel: "warning",
	});
	writeFileSync(outfile, escaped(readFileSync(outfile, "utf8")));
	return Object.keys(metafile.inputs).map((input) => resolve(ROOT, input));
}

/** Escapes what the bundler leaves in regular expressions and tagged templates: `runScript` reads a byte as a character. */
function escaped(script: string): string {
	return script.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Turns separate scripts into assets that `loadScript` runs. */
function separateScripts(keep: (name: string, file: string) => void): Plugin {
	return {
		name: "separate scripts",
		setup(plugin) {
			plugin.onResolve({ filter: /./ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
				if (kind !== "dynamic-import" || importer.includes("/node_modules/") || pluginData === separateScripts)
					return undefined;
				const found = await plugin.resolve(path, { kind, importer, resolveDir, pluginData: separateScripts });
				const name = relative(ROOT, found.path);
				return SCRIPT.test(name) ? { path: name, namespace: "script" } : undefined;
			});
			plugin.onResolve({ filter: PACKAGE }, ({ path, importer }) =>
				importer.includes("/node_modules/") ? undefined : { path, namespace: "script" },
			);
			plugin.onLoad({ filter: /./, namespace: "script" }, ({ path }): OnLoadResult => {
				keep(path, join(ROOT, path));
				const loader = JSON.stringify(SCRIPT_LOADER);
				return {
					contents: `module.exports = require(${loader}).loadScript(${JSON.stringify(path)})`,
					resolveDir: ROOT,
				};
			});
		},
	};
}

/** Turns each native library into an asset that `loadAddon` loads. */
function nativeLibraries(keep: (name: string, file: string) => void): Plugin {
	const platform = `linux-${process.arch}`;
	const entries: Record<string, string> = {
		"better-sqlite3": `better-sqlite3/${platform}`,
		"@node-rs/argon2": `@node-rs/argon2-${platform}-gnu`,
	};
	return {
		name: "native libraries",
		setup(plugin) {
			plugin.onResolve({ filter: /^(better-sqlite3|@node-rs\/argon2)$/ }, ({ path, importer }) => {
				const from = createRequire(importer);
				const own = createRequire(from.resolve(path));
				return { path: (path.startsWith("@") ? own : from).resolve(entries[path] ?? path) };
			});
			plugin.onLoad({ filter: /\.node$/ }, ({ path }): OnLoadResult => {
				const name = `${createHash("sha256").update(readFileSync(path)).digest("hex")}-${basename(path)}`;
				keep(name, path);
				const loader = JSON.stringify(ADDON_LOADER);
				return { contents: `module.exports = require(${loader}).loadAddon(${JSON.stringify(name)})`, resolveDir: ROOT };
			});
		},
	};
}

/** Finds the files that our sources name, and turns them into assets. */
function ourSources(keep: (name: string, file: string) => void): Plugin {
	return {
		name: "our sources",
		setup(plugin) {
			plugin.onLoad({ filter: /\.ts$/ }, ({ path }): OnLoadResult | undefined => {
				if (path.includes("/node_modules/")) return undefined;
				const contents = readFileSync(path, "utf8")
					.replace(PARTS, "export $1 from $2;")
					.replace(OWN_REQUIRE, "")
					.replace(SHIPPED_FILE, (_, call: string, dependency: string | undefined, file: string) => {
						const target =
							dependency === undefined ? join(dirname(path), file) : createRequire(path).resolve(dependency);
						const name = dependency ?? relative(ROOT, target);
						keep(name, target);
						return `${call}(new URL(${JSON.stringify(`asset:${name}`)})`;
					});
				const source = relative(ROOT, path);
				if (BESIDE_SOURCE.test(contents.replace(COMMENT, "")) && !NOT_IN_BINARY.test(source))
					return {
						errors: [
							{ text: `${source} looks for a file next to it, which the single binary does not have: ${REMEDY}` },
						],
					};
				return { contents, loader: "ts" };
			});
		},
	};
}

/** @returns folders of third-party packages */
function packagesOf(files: readonly string[]): string[] {
	const folders = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []);
	return [...new Set(folders)].sort((one, other) => one.localeCompare(other, "en"));
}
