import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { type Context, type LocalCommand, option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { type Io, isInteractive, setting } from "@svc/cli/io";
import { note, showFields, visible } from "@svc/cli/output";
import { withProgress } from "@svc/cli/progress";
import { confirm } from "@svc/cli/prompt";
import type { Engine, Installed } from "./engine-folder.ts";
import { line, readVariables, type TestOptions, VARIABLES } from "./engine-test.ts";

interface InstallOptions extends TestOptions {
	readonly pluginsDir?: string;
	/** False with --no-test. */
	readonly test: boolean;
	readonly yes?: boolean;
}

/** Account for trying an engine as root: nobody, on every Linux. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** `svc engine install`: makes the server of this machine run exactly this program. */
export const ENGINE_INSTALL: LocalCommand<InstallOptions> = {
	group: "engine",
	usage: "install <folder>",
	summary: "install an engine for the server on this machine, and pin its program",
	details: `Tries the engine as \`svc engine test\` does (as the user nobody when root installs it), then copies its program and plugin.json to where the server looks for engines, with the program's SHA-256: the server runs only this program. What root installs belongs to the owner of the data directory. After a change, install the engine again; svc asks before it replaces the installed program.
The server looks for engines when it starts.`,
	options: [
		option(
			"--plugins-dir <folder>",
			"folder where the server looks for engines (else from svc.toml here, SVC_ variables or the service)",
		),
		VARIABLES,
		option("--no-test", "install it without testing it"),
		option("--yes", "replace another program without asking"),
	],
	examples: ["svc engine install ./voucher", "svc engine install ./voucher --plugins-dir /srv/svc/plugins.d --yes"],
	run: installFolder,
};

async function installFolder(context: Context<InstallOptions>, folder: string): Promise<void> {
	const { io, options } = context;
	const { putEngine, readEngine, readInstalled } = await import("./engine-folder.ts");
	const { asOwnerOf } = await import("./folder-owner.ts");
	const directory = resolve(io.cwd(), folder);
	const engine = readEngine(directory);
	await refuseBuiltIn(engine.type);
	const plugins_dir = await findPluginsDir(context);
	if (options.test) await tryOut(context, directory);
	const before = asOwnerOf(plugins_dir, () => readInstalled(plugins_dir, engine.type));
	await settleReplacement(context, engine, before);
	const home = asOwnerOf(plugins_dir, () => putEngine(plugins_dir, engine));
	const { type, version, sha256 } = engine;
	await showFields(context, { type, version, sha256, folder: home, replaced: before !== undefined }, [
		["type", type],
		["version", version],
		["sha256", sha256],
		["folder", home],
	]);
	await note(
		context,
		"next: restart the server (such as `systemctl restart svc`); then `svc engine list` shows the engine",
	);
}

async function refuseBuiltIn(type: string): Promise<void> {
	const { BUILT_IN_TYPES } = await import("../built-in-engines.ts");
	if (BUILT_IN_TYPES.includes(type))
		throw new Failure("failed", "the server has a built-in engine of this type", {
			hint: "give yours another name, in plugin.json and in what describe answers",
		});
}

/** Finds the folder where the server looks for engines. @throws Failure when it is unknown, or lies in no folder */
async function findPluginsDir({ io, options }: Context<InstallOptions>): Promise<string> {
	const folder = options.pluginsDir === undefined ? await readPluginsDir(io) : resolve(io.cwd(), options.pluginsDir);
	if (existsSync(dirname(folder))) return folder;
	throw new Failure("failed", visible(`there is no folder ${dirname(folder)}`), {
		hint: "run it where the server's svc.toml is, or with its SVC_CONFIG, or name the folder with --plugins-dir",
	});
}

/** Settings file of a service made by `svc install`. */
const SERVICE_SETTINGS = "/etc/svc/svc.toml";

async function readPluginsDir(io: Io): Promise<string> {
	const [{ readConfig }, { FatalError }] = await Promise.all([
		import("@svc/server/config"),
		import("@svc/server/errors"),
	]);
	const isTold = ["SVC_CONFIG", "SVC_DATA_DIR", "SVC_PLUGINS_DIR"].some((name) => setting(io, name) !== undefined);
	const isHere = isTold || existsSync(join(io.cwd(), "svc.toml"));
	const env = isHere || !existsSync(SERVICE_SETTINGS) ? io.env : { ...io.env, SVC_CONFIG: SERVICE_SETTINGS };
	try {
		return readConfig(env, io.cwd()).plugins_dir;
	} catch (error) {
		if (!(error instanceof FatalError)) throw error;
		throw new Failure("failed", error.message, { hint: "name the folder with --plugins-dir" });
	}
}

async function tryOut(context: Context<InstallOptions>, directory: string): Promise<void> {
	const { testEngine } = await import("@svc/plugin-sdk/testing");
	const env = readVariables(context.options.env ?? []);
	const isRoot = process.getuid?.() === 0;
	const results = await withProgress(context, "trying the engine", () =>
		testEngine({ directory, env, stderr: "inherit", ...(isRoot ? { user: NOBODY } : {}) }),
	);
	const failed = results.filter(({ passed }) => !passed);
	if (failed.length === 0) return;
	await note(context, visible(failed.map(line).join("").trimEnd()));
	throw new Failure("failed", "the engine does not meet the contract of engines; nothing was installed", {
		hint: "fix it, and test it with `svc engine test`; --no-test installs it as it is",
	});
}

async function settleReplacement(
	{ io, options }: Context<InstallOptions>,
	engine: Engine,
	before: Installed | undefined,
): Promise<void> {
	if (before === undefined || before.sha256 === engine.sha256 || options.yes === true) return;
	if (!isInteractive(io)) throw new Failure("usage", "replacing another program needs --yes where svc cannot ask");
	const was = before.version === undefined ? "what is there" : `${before.version} (SHA-256 ${before.sha256 ?? "none"})`;
	const question = `Replace ${engine.type} ${was} by ${engine.version} (SHA-256 ${engine.sha256})?`;
	if (!(await confirm(io, visible(question)))) throw new Failure("failed", "nothing was installed");
}
