import type { Limit, Limits } from "../limits.ts";
import { type Check, ok } from "./model.ts";

/** Dependencies of examining limits. */
export interface LimitNeeds {
	limits: Limits;
}

/** Share of a limit above which it is reported. */
const NEARLY = 0.8;

/** Checks whether a limit of the server, a realm or an account is nearly reached, so that it will soon refuse. */
export async function checkLimits({ limits }: LimitNeeds): Promise<Check[]> {
	const checks = await Promise.all(limits.all().map(checkLimit));
	const near = checks.flat();
	return near.length === 0 ? [ok("limits", "no limit is close")] : near;
}

async function checkLimit({ name, max, hint, used, nearest }: Limit): Promise<Check[]> {
	const filled = nearest === undefined ? [{ name: "", used: await used(), max }] : await nearest();
	return filled
		.filter((one) => one.used >= one.max * NEARLY)
		.map((one) => {
			const what = one.name === "" ? name : `${name} of ${one.name}`;
			const message = `${what}: ${one.used.toLocaleString("en")} of ${one.max.toLocaleString("en")} are in use`;
			return { name: "limits", status: "warning", message, hint };
		});
}
