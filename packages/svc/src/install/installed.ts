import { existsSync, readFileSync } from "node:fs";
import { Failure } from "@svc/cli/failure";
import { layoutOf, type Place } from "./layout.ts";
import { MARK } from "./unit.ts";

/** What may be asked of an installation's place; what is absent is as it was, or svc's choice. */
export type PlaceWishes = Partial<Place>;

const DEFAULTS = { prefix: "/usr/local", user: "svc" };

/** @returns what the unit under the root says; undefined when there is none of ours */
export function readInstalled(root: string | undefined): Place | undefined {
	const under = root === undefined ? {} : { root };
	const { at, unit } = layoutOf({ ...DEFAULTS, ...under });
	const text = existsSync(at(unit)) ? readFileSync(at(unit), "utf8") : "";
	const [, prefix] = /^ExecStart=(\S+)\/bin\/svc server$/m.exec(text) ?? [];
	const [, user] = /^User=(\S+)$/m.exec(text) ?? [];
	if (!text.startsWith(MARK) || prefix === undefined || user === undefined) return undefined;
	return { prefix, user, ...under };
}

/**
 * Where an installation goes: what is there stays where it is and whose it is.
 * @throws Failure usage when something else is asked for
 */
export function placeOf({ root, prefix, user }: PlaceWishes): Place {
	const installed = readInstalled(root);
	if (installed !== undefined) {
		refuseOther("--prefix", prefix, installed.prefix);
		refuseOther("--user", user, installed.user);
		return installed;
	}
	return { prefix: prefix ?? DEFAULTS.prefix, user: user ?? DEFAULTS.user, ...(root === undefined ? {} : { root }) };
}

function refuseOther(option: string, wished: string | undefined, installed: string): void {
	if (wished === undefined || wished === installed) return;
	throw new Failure("usage", `the service is installed with ${option} ${installed} and keeps it`, {
		hint: `leave ${option} out to upgrade; to change it, \`svc uninstall\` first, which keeps data, key and settings`,
	});
}
