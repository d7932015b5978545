import { existsSync, readFileSync } from "node:fs";
import { Failure } from "@svc/cli/failure";
import { type Location, layoutOf } from "./layout.ts";
import { MARK } from "./unit.ts";

/** Options for the location of an installation; absent ones stay as they were, or are svc's choice. */
export type LocationOptions = Partial<Location>;

const DEFAULTS = { prefix: "/usr/local", user: "svc" };

/** @returns the location that the unit under the root names; undefined without a unit of ours */
export function readInstalled(root: string | undefined): Location | undefined {
	const under = root === undefined ? {} : { root };
	const { at, unit } = layoutOf({ ...DEFAULTS, ...under });
	const text = existsSync(at(unit)) ? readFileSync(at(unit), "utf8") : "";
	const [, prefix] = /^ExecStart=(\S+)\/bin\/svc server$/m.exec(text) ?? [];
	const [, user] = /^User=(\S+)$/m.exec(text) ?? [];
	if (!text.startsWith(MARK) || prefix === undefined || user === undefined) return undefined;
	return { prefix, user, ...under };
}

/**
 * Chooses the location of an installation: an existing one keeps its folder and its account.
 * @throws Failure usage when the options name another
 */
export function chooseLocation({ root, prefix, user }: LocationOptions): Location {
	const installed = readInstalled(root);
	if (installed !== undefined) {
		refuseOther("--prefix", prefix, installed.prefix);
		refuseOther("--user", user, installed.user);
		return installed;
	}
	return { prefix: prefix ?? DEFAULTS.prefix, user: user ?? DEFAULTS.user, ...(root === undefined ? {} : { root }) };
}

function refuseOther(option: string, given: string | undefined, installed: string): void {
	if (given === undefined || given === installed) return;
	throw new Failure("usage", `the service is installed with ${option} ${installed} and keeps it`, {
		hint: `leave ${option} out to upgrade; to change it, \`svc uninstall\` first, which keeps data, key and settings`,
	});
}
