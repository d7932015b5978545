import { existsSync, readFileSync } from "node:fs";
import { Failure } from "@svc/cli/failure";
import { layoutOf, type Place } from "./layout.ts";
import { MARK } from "./unit.ts";

/** Wishes for an installation's place; absent ones stay as they were, or are svc's choice. */
export type PlaceWishes = Partial<Place>;

const DEFAULTS = { prefix: "/usr/local", user: "svc" };

/** @returns the place that the unit under the root names; undefined without a unit of ours */
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
 * Place of an installation: an existing one keeps its place and its account.
 * @throws Failure usage when the wishes differ from it
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
