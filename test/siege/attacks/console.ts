import { keepAsking, touch } from "../asking.ts";
import { type Attack, scaled, sourceOf } from "../attack.ts";
import { promotionOf } from "./requests.ts";

/** Pages of the console that have much to look at. */
export const CONSOLE: Attack = {
	name: "console",
	title: "the console's comparison, keys and log of the largest realm, 8 connections",
	/** Fills the other environment: equal values are compared to their ends. */
	prepare: (target) => touch(target, ...[0, 1, 2, 3].map((part) => promotionOf(target, part))),
	run(target, counts, over) {
		const headers = { cookie: target.cookie };
		const paths = ["/compare?from=dev&to=prod", "", "/audit", "/compare?from=prod&to=dev"];
		let asked = 0;
		const next = () => ({ path: `/console/realms/${target.slug}${paths[asked++ % paths.length]}`, headers });
		return keepAsking(
			target,
			{ connections: scaled(target, 8), source: () => sourceOf(target, 0), next },
			counts,
			over,
		);
	},
};
