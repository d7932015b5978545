import { ask, keepAsking, posting, signedIn, touch } from "../asking.ts";
import { type Attack, sourceOf, type Target } from "../attack.ts";
import type { RequestText } from "../connection.ts";

/** Type of the third party's engine that writes to its standard error endlessly. */
export const FLOODING = "floods";

const CONNECTIONS = 4;

function asking(target: Target): RequestText {
	return posting(`/api/v1/realms/${target.slug}/engines/${FLOODING}/generate`, {}, signedIn(target));
}

/** A third party's engine that misbehaves. */
export const ENGINE: Attack = {
	name: "engine-stderr",
	title: "an engine that floods its standard error, 4 connections that ask it",
	async prepare(target) {
		const path = `/api/v1/realms/${target.slug}/engines/${FLOODING}/config`;
		await ask(target, { ...posting(path, { kind: "lines" }), method: "PUT" }, target.admin);
		await touch(target, ...Array.from({ length: CONNECTIONS }, () => asking(target)));
	},
	run(target, counts, over) {
		const text = asking(target);
		const askers = { connections: CONNECTIONS, source: () => sourceOf(target, 0), next: () => text };
		return keepAsking(target, askers, counts, over);
	},
};
