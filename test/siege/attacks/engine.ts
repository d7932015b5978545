import { ask, keepAsking, posting, signedIn } from "../asking.ts";
import { type Attack, sourceOf } from "../attack.ts";

/** Type of the third party's engine that writes to its standard error without end. */
export const FLOODING = "floods";

/** A third party's engine that is not well. */
export const ENGINE: Attack = {
	name: "engine-stderr",
	title: "an engine that floods its standard error, 4 connections that ask it",
	async prepare(target) {
		const path = `/api/v1/realms/${target.slug}/engines/${FLOODING}/config`;
		await ask(target, { ...posting(path, { kind: "lines" }), method: "PUT" }, target.admin);
	},
	run(target, counts, over) {
		const path = `/api/v1/realms/${target.slug}/engines/${FLOODING}/generate`;
		const asking = posting(path, {}, signedIn(target));
		const askers = { connections: 4, source: () => sourceOf(target, 0), next: () => asking };
		return keepAsking(target, askers, counts, over);
	},
};
