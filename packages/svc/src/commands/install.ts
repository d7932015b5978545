import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isSea } from "node:sea";
import { type Context, type LocalCommand, option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import type { Io } from "@svc/cli/io";
import { note, show, visible } from "@svc/cli/output";
import { withProgress } from "@svc/cli/progress";
import type { Plan, PlanOptions } from "../install/install.ts";
import type { LocationOptions } from "../install/installed.ts";
import type { Layout } from "../install/layout.ts";
import { describeStep, perform, type Step } from "../install/steps.ts";

interface InstallOptions extends Omit<PlanOptions, "program" | "reload">, LocationOptions {
	readonly program?: string;
	readonly start: boolean;
}

/** `svc install`: makes this machine run the server as a service of systemd. */
export const INSTALL: LocalCommand<InstallOptions> = {
	usage: "install",
	summary: "run the server on this machine as a systemd service",
	details: `Copies this program, creates an account for it, /etc/svc/svc.toml, a master key and a unit that confines the server, then starts it. The first account needs the setup code that the first start creates.
If systemd supports it, it encrypts the master key for this machine. No other machine can decrypt it then, so keep a copy elsewhere.
To upgrade, run it again with a newer program: it replaces program and unit, and keeps settings, key, data and account.`,
	options: [
		option("--dry-run", "show every file, mode and command without doing anything"),
		option("--no-start", "only install: do not start or restart the server"),
		option("--listen <host:port>", "address to listen on, in place of 127.0.0.1:8443; only for new settings"),
		option("--prefix <dir>", "folder whose bin gets the program (else where it is, else /usr/local)"),
		option("--user <name>", "account that the server runs as (else the same as before, else svc)"),
		option("--master-key-from <file>", "read the master key from this file, for example after a move to a new machine"),
		option("--master-key-copy <file>", "write a copy of the new master key, to keep elsewhere"),
		option("--root <dir>", "install into the system below this folder, such as an image; nothing is started"),
		option("--program <file>", "install this executable instead of the one that runs"),
	],
	examples: [
		"svc install --dry-run",
		"sudo ./svc install --master-key-copy master-key.txt",
		"sudo ./svc install --listen 0.0.0.0:8443",
	],
	run: install,
};

async function install({ io, options }: Context<InstallOptions>): Promise<void> {
	const { location, planOptions } = read(io, options);
	const { root } = location;
	const { layoutOf } = await import("../install/layout.ts");
	const { chooseLocation } = await import("../install/installed.ts");
	const { planInstallation } = await import("../install/install.ts");
	const { isSystemdRunning, runner } = await import("../install/run.ts");
	const layout = layoutOf(chooseLocation(location));
	const secret = { SYSTEMD_CREDENTIAL_SECRET: layout.at("/var/lib/systemd/credential.secret") };
	const run = runner(io, root === undefined ? {} : secret);
	const isStarting = root === undefined && options.start;
	if (options.dryRun !== true) requireMachine(root, isStarting, isSystemdRunning());
	const reload = root === undefined && (options.start || isSystemdRunning());
	const plan = await planInstallation(layout, { ...planOptions, reload }, run);
	if (options.dryRun === true) return showPlan({ io, options }, plan, isStarting);
	const changed = await perform(plan.files, run);
	await perform(plan.enable, run);
	if (isStarting)
		await withProgress({ io, options }, "starting the service", () => perform([start(changed.length > 0)], run));
	await report({ io, options }, layout, plan, isStarting);
}

/** The options, with absolute paths. */
function read(io: Io, options: InstallOptions) {
	const path = (file: string) => resolve(io.cwd(), file);
	const { listen, dryRun, prefix, user, masterKeyFrom, masterKeyCopy } = options;
	const root = options.root === undefined ? undefined : path(options.root);
	const planOptions: Omit<PlanOptions, "reload"> = {
		program: programOf(options.program === undefined ? undefined : path(options.program)),
		...(listen === undefined ? {} : { listen }),
		...(dryRun === undefined ? {} : { dryRun }),
		...(masterKeyFrom === undefined ? {} : { masterKeyFrom: path(masterKeyFrom) }),
		...(masterKeyCopy === undefined ? {} : { masterKeyCopy: path(masterKeyCopy) }),
	};
	const location: LocationOptions = {
		...(root === undefined ? {} : { root }),
		...(prefix === undefined ? {} : { prefix }),
		...(user === undefined ? {} : { user }),
	};
	return { location, planOptions };
}

function programOf(given: string | undefined): string {
	if (given !== undefined && !existsSync(given)) throw new Failure("usage", "the file of --program does not exist");
	if (given !== undefined) return given;
	if (isSea()) return process.execPath;
	throw new Failure("usage", "svc runs from its sources here, which cannot be installed", {
		hint: "`npm run binary`, then `sudo dist/svc install`; or name an executable with --program",
	});
}

function requireMachine(root: string | undefined, isStarting: boolean, hasSystemd: boolean): void {
	if (root !== undefined) return;
	if (process.geteuid?.() !== 0)
		throw new Failure("denied", "only root can install a service", {
			hint: "`sudo svc install`; --dry-run shows what it would do",
		});
	if (isStarting && !hasSystemd)
		throw new Failure("failed", "systemd does not run on this machine", {
			hint: "`svc server` needs no service; --no-start installs the files anyway",
		});
}

function start(isNew: boolean): Step {
	return { do: "run", command: ["systemctl", isNew ? "restart" : "start", "svc.service"] };
}

async function showPlan(context: Context<InstallOptions>, plan: Plan, isStarting: boolean): Promise<void> {
	const steps = [...plan.files, ...plan.enable, ...(isStarting ? [start(true)] : [])];
	await show(context, { steps: steps.map(shown) }, steps.map(describeStep).join("\n"));
	await note(context, "nothing was done");
}

/** Form for JSON: without the secret. */
function shown(step: Step): object {
	if (step.do !== "write" || step.secret === undefined) return step;
	const { content: _, ...rest } = step;
	return rest;
}

async function report(
	context: Context<InstallOptions>,
	layout: Layout,
	{ key }: Plan,
	isStarted: boolean,
): Promise<void> {
	const { program, settings, data_dir, unit } = layout;
	const fingerprint = key.fingerprint === undefined ? "" : ` (fingerprint ${key.fingerprint})`;
	const document = {
		program,
		settings,
		data_dir,
		unit,
		master_key: { file: key.file, encrypted: key.is_sealed, fingerprint: key.fingerprint },
		started: isStarted,
	};
	const lines = [
		isStarted ? "svc is installed and runs" : "svc is installed and starts with the machine",
		"",
		`  program     ${program}`,
		`  settings    ${settings}`,
		`  data        ${data_dir}`,
		`  master key  ${key.file}${key.is_sealed ? ", encrypted for this machine" : ""}${fingerprint}`,
	];
	await show(context, document, lines.join("\n"));
	if (context.options.json !== true) await note(context, `\n${adviceAfter(layout, key, context.options)}`);
}

/** The next steps; none where the key and a first account already existed. */
function adviceAfter(
	{ at, data_dir, sealed_key }: Layout,
	key: Plan["key"],
	{ masterKeyCopy: kept }: Pick<InstallOptions, "masterKeyCopy">,
): string {
	const print = key.is_sealed ? `systemd-creds decrypt --name=master-key ${sealed_key} -` : `cat ${key.file}`;
	const isNew = key.fingerprint !== undefined;
	const copy = kept === undefined ? `:  sudo ${print}` : `, then remove it here:  ${visible(kept)}`;
	const keep = `keep a copy of the master key elsewhere, no backup opens without it${copy}\n`;
	if (!isNew && !existsSync(at(`${data_dir}/setup-code`))) return "`svc health` names the version that runs";
	return `${isNew ? keep : ""}next:  svc init you@example.com
       It asks for the setup code:  sudo cat ${data_dir}/setup-code
       and shows a fingerprint to compare:  journalctl -u svc`;
}
