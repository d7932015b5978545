import type { Limits } from "../limits.ts";
import { type Check, ok } from "./model.ts";

/** What looking at limits needs. */
export interface LimitNeeds {
	limits: Limits;
}

/** Share of a limit from which on it is told. */
const NEARLY = 0.8;

/** Whether a limit of the server is nearly reached, so that it will soon refuse. */
export async function lookAtLimits({ limits }: LimitNeeds): Promise<Check[]> {
	const looked = await Promise.all(limits.all().map(async (limit) => ({ ...limit, now: await limit.used() })));
	const near = looked.filter(({ now, max }) => now >= max * NEARLY);
	if (near.length === 0) return [ok("limits", "none is nearly reached")];
	return near.map(({ name, now, max, hint }) => ({
		name: "limits",
		status: "warning",
		message: `${name}: ${now.toLocaleString("en")} of ${max.toLocaleString("en")} are in use`,
		hint,
	}));
}
