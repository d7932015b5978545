import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Context, type LocalCommand, option } from "@svc/cli/command";
import { Failure } from "@svc/cli/failure";
import { isInteractive } from "@svc/cli/io";
import { show } from "@svc/cli/output";
import { confirm } from "@svc/cli/prompt";
import { readInstalled } from "../install/installed.ts";
import { type Layout, layoutOf } from "../install/layout.ts";
import { isSystemdRunning, runner, withRoot } from "../install/run.ts";
import { perform, type Step } from "../install/steps.ts";

interface UninstallOptions {
	readonly root?: string;
	readonly yes?: boolean;
}

/** `svc uninstall`: undoes `svc install`, except for what cannot be made again. */
export const UNINSTALL: LocalCommand<UninstallOptions> = {
	usage: "uninstall",
	summary: "stop the service and remove it from this machine; data, master key and settings are kept",
	options: [option("--yes", "do not ask"), option("--root <dir>", "uninstall from the system below this folder")],
	examples: ["sudo svc uninstall", "sudo svc uninstall --yes"],
	run: uninstall,
};

async function uninstall(context: Context<UninstallOptions>): Promise<void> {
	const { io, options } = context;
	const root = options.root === undefined ? undefined : resolve(io.cwd(), options.root);
	const installed = readInstalled(root);
	if (installed === undefined) throw new Failure("notFound", "there is no service here that svc install made");
	const layout = layoutOf(installed);
	const { program } = layout;
	if (root === undefined && process.geteuid?.() !== 0)
		throw new Failure("denied", "only root can remove a service", { hint: "`sudo svc uninstall`" });
	await confirmRemoval(context, program);
	await perform(removalSteps(layout, root === undefined && isSystemdRunning()), runner(io));
	const left = [layout.data_dir, layout.settings_dir].filter((path) => existsSync(layout.at(path)));
	const text = left.length === 0 ? "" : `\nleft: ${left.join(", ")}, and the account that owns the data`;
	await show(context, { removed: [layout.unit, program], left }, `svc is no longer installed${text}`);
}

async function confirmRemoval({ io, options }: Context<UninstallOptions>, program: string): Promise<void> {
	if (options.yes === true) return;
	if (!isInteractive(io)) throw new Failure("usage", "svc cannot ask without a terminal: --yes removes it");
	if (!(await confirm(io, `Stop the service and remove ${program}? Data, master key and settings stay.`)))
		throw new Failure("failed", "nothing was removed");
}

/** The steps that remove the service. @param live whether systemd runs, and so may run the service */
export function removalSteps({ at, unit, account, program, root }: Layout, live: boolean): Step[] {
	return [
		{ do: "run", command: withRoot(root, "systemctl", "disable", ...(live ? ["--now"] : []), "svc.service") },
		{ do: "remove", path: at(unit) },
		{ do: "remove", path: at(account) },
		{ do: "remove", path: at(program) },
		...(live ? [{ do: "run", command: ["systemctl", "daemon-reload"] } as const] : []),
	];
}
