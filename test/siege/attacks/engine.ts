import { ask, keepAsking, posting, signedIn, touch } from "../asking.ts";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import type { RequestText } from "../connection.ts";

/** Type of the third party's engine that writes to its standard error endlessly. */
export const FLOODING = "floods";

const CONNECTIONS = 4;

function asking(target: Target): RequestText {
	return posting(`/api/v1/realms/${target.slug}/engines/${FLOODING}/generate`, {}, signedIn(target));
}

/** Realms of one account that ask for certificates at the same time, and connections that ask. */
const REALMS = 20;
const CERTIFICATE_CONNECTIONS = 40;

function askingFrom(target: Target, at: number): RequestText {
	const path = `/api/v1/realms/many-${at % REALMS}/engines/pki/generate`;
	return posting(path, { common_name: "app.example.com" }, signedIn(target));
}

/** Engines that others use, too: an endless one, and one that computes. */
export const ENGINES: readonly Attack[] = [
	{
		name: "engine-stderr",
		title: "an engine that floods its standard error, 4 connections that call it",
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
	},
	{
		name: "certificates",
		title: "certificates for 20 realms of one account, 40 connections",
		async prepare(target) {
			const config = { ...posting("/api/v1/engines/pki/config", { allowed_realms: ["*"] }), method: "PUT" };
			await ask(target, config, target.admin);
			const realms = Array.from({ length: REALMS }, (_, at) =>
				posting("/api/v1/realms", { slug: `many-${at}`, name: "Many" }, signedIn(target)),
			);
			await touch(target, ...realms);
			await touch(target, ...Array.from({ length: CERTIFICATE_CONNECTIONS }, (_, at) => askingFrom(target, at)));
		},
		run(target, counts, over) {
			const askers = {
				connections: scaled(target, CERTIFICATE_CONNECTIONS),
				source: () => sourceOf(target, 0),
				next: (at: number) => askingFrom(target, at),
			};
			return keepAsking(target, askers, counts, over);
		},
	},
];
