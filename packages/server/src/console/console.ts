import type { Pages } from "../http/pages.ts";
import type { SiteNeeds } from "./endpoints.ts";

/**
 * Makes the console, which loads its pages when the first one is asked for: a server whose console nobody opens pays nothing for it.
 * @returns undefined when `base_url` has a path, where a cookie would belong to other applications, too
 * Design: §16
 */
export function createConsole(base_url: string | undefined, needs: SiteNeeds): Pages | undefined {
	if (base_url !== undefined && new URL(base_url).pathname !== "/") return undefined;
	let loading: Promise<Pages> | undefined;
	const load = () => {
		loading ??= import("./site.ts").then(({ createSite }) => createSite(needs, base_url !== undefined));
		return loading;
	};
	return {
		answer: async (request) => (await load()).answer(request),
		refuse: async (request, error) => (await load()).refuse(request, error),
	};
}
