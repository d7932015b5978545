import { existsSync, readFileSync } from "node:fs";
import { Failure } from "@svc/cli/failure";
import type { Layout } from "./layout.ts";
import { type KeyPlan, type MasterKeyOptions, planMasterKey } from "./master-key.ts";
import { type Run, withRoot } from "./run.ts";
import type { Step } from "./steps.ts";
import { accountText, settingsText } from "./texts.ts";
import { MARK, unitText } from "./unit.ts";

/** Options of an installation, besides its location. */
export interface PlanOptions extends MasterKeyOptions {
	/** The executable to install. */
	readonly program: string;
	/** `host:port`; absent for loopback. */
	readonly listen?: string;
	/** True to make systemd read the unit, which needs a running systemd. */
	readonly reload: boolean;
}

/** Steps in two parts: after the first the machine is ready, the second tells its systemd. */
export interface Plan {
	readonly key: KeyPlan;
	readonly files: readonly Step[];
	readonly enable: readonly Step[];
}

/** Only this machine: nobody else may reach a server without an account. Design: §7 */
const LOOPBACK = "127.0.0.1:8443";

/**
 * Plans an installation, or an upgrade. It replaces program and unit; existing settings and master key stay.
 * @throws Failure when something in the way is not ours
 */
export async function planInstallation(layout: Layout, options: PlanOptions, run: Run): Promise<Plan> {
	const { at, root } = layout;
	requireOwnUnit(layout);
	requireOwnAccount(layout);
	// Their faults come up before anything is made.
	const settings = settingsSteps(layout, options);
	const key = await planMasterKey(layout, options, run);
	const files: Step[] = [
		{ do: "copy", path: at(layout.program), mode: 0o755, from: options.program },
		{ do: "write", path: at(layout.account), mode: 0o644, content: accountText(layout) },
		{ do: "run", command: withRoot(root, "systemd-sysusers", "svc.conf") },
		{ do: "make", path: at(layout.settings_dir), mode: 0o755 },
		...settings,
		...key.steps,
		{ do: "write", path: at(layout.unit), mode: 0o644, content: unitText(layout, key.credential) },
	];
	const enable: Step[] = [
		...(options.reload ? [{ do: "run", command: ["systemctl", "daemon-reload"] } as const] : []),
		{ do: "run", command: withRoot(root, "systemctl", "enable", "svc.service") },
	];
	return { key, files, enable };
}

function settingsSteps(layout: Layout, { listen }: PlanOptions): Step[] {
	const path = layout.at(layout.settings);
	if (!existsSync(path))
		return [{ do: "write", path, mode: 0o644, content: settingsText(layout, checkListen(layout, listen ?? LOOPBACK)) }];
	if (listen === undefined) return [];
	throw new Failure("usage", `${layout.settings} already exists and stays unchanged`, {
		hint: "change listen in it, then run this again without --listen",
	});
}

/** The kernel's default, where it does not say. */
const FIRST_UNPRIVILEGED_PORT = 1024;

/** @throws Failure usage when it is no address, or the unit's account may not listen there */
function checkListen({ at }: Layout, listen: string): string {
	const [, , port = ""] = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(listen) ?? [];
	if (Number(port) < 1 || Number(port) > 65_535)
		throw new Failure("usage", "--listen takes an address and a port, such as 0.0.0.0:8443");
	const file = at("/proc/sys/net/ipv4/ip_unprivileged_port_start");
	const first = existsSync(file) ? Number(readFileSync(file, "utf8")) : FIRST_UNPRIVILEGED_PORT;
	if (Number(port) >= first) return listen;
	throw new Failure(
		"usage",
		`only root may listen on port ${Number(port)} of this machine, and the service does not run as root`,
		{
			hint: `name a port from ${first} on and forward to it, or allow this one: \`sysctl -w net.ipv4.ip_unprivileged_port_start=${Number(port)}\`, and the same in /etc/sysctl.d for the next start of the machine`,
		},
	);
}

/** @throws Failure when another unit has our name */
function requireOwnUnit({ at, unit }: Layout): void {
	if (!existsSync(at(unit)) || readFileSync(at(unit), "utf8").startsWith(MARK)) return;
	throw new Failure("failed", `${unit} was not written by svc install, so svc does not replace it`, {
		hint: "move it elsewhere, then run this again",
	});
}

/** An account of the same name that is somebody's own would own all secrets. */
function requireOwnAccount({ at, user, data_dir }: Layout): void {
	const file = at("/etc/passwd");
	const accounts = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
	const [, , , , , home] = accounts.find((line) => line.startsWith(`${user}:`))?.split(":") ?? [];
	if (home === undefined || home === data_dir) return;
	throw new Failure("failed", `an account ${user} exists that is not this service's: its home is not ${data_dir}`, {
		hint: "name another with --user, such as --user svc-server",
	});
}
