import { ask, keepAsking, posting, signedIn } from "../asking.ts";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import { askWithoutPause, bytesOf, type RequestText } from "../connection.ts";

/** Just below the limit of a body. */
const BODY_BYTES = 950_000;

/** Repeats a numbered text up to the size of a body. */
function repeated(begin: string, unit: (at: number) => string): string {
	let text = begin;
	for (let at = 0; text.length < BODY_BYTES; at++) text += unit(at);
	return text;
}

/** Bodies that are expensive to refuse. */
const MALFORMED = [
	() => repeated("{", (at) => `"\\x${at}":`),
	() => repeated("{", (at) => `"\\n${at}":`),
	() => repeated("{", (at) => `"${at}":`),
	() => repeated("{", (at) => `"k${at}":1`),
	() => repeated("[", () => `{"\\n":}`),
	() => repeated("[", () => "{}"),
	() => repeated("[", () => "[]"),
	() => repeated("{", (at) => (at < 9999 ? `"${String(at).padStart(80, "k")}":1,` : " ")),
	() => `{"a"${" ".repeat(BODY_BYTES)}:`,
	() => `{"a":"${"\\".repeat(BODY_BYTES)}`,
	() => `{"a":${"1".repeat(BODY_BYTES)}`,
	() => "[".repeat(BODY_BYTES),
];

/** Bodies that are valid and as large, wide or deep as a body may be, and two that are wider and deeper. */
const VALID = [
	() => `{${Array.from({ length: 9999 }, (_, at) => `"${String(at).padStart(80, "k")}":1`).join()}}`,
	() => `[${Array.from({ length: 9999 }, () => `"${"\\u0001".repeat(14)}"`).join()}]`,
	() => `[${Array.from({ length: 300 }, () => `${"[".repeat(31)}${"]".repeat(31)}`).join()}]`,
	() => `{"a":"${"\\u0001".repeat(BODY_BYTES / 6)}"}`,
	() => `[1${",1".repeat(BODY_BYTES / 2)}]`,
	() => `${"[".repeat(BODY_BYTES / 2)}${"]".repeat(BODY_BYTES / 2)}`,
];

/** Posts these bodies to the login in turn. */
function postingInTurn(bodies: readonly (() => string)[]): () => RequestText {
	const texts = bodies.map((make) => posting("/api/v1/auth/login", make()));
	let asked = 0;
	return () => texts[asked++ % texts.length] ?? posting("/", "");
}

/** Secrets of 170 kB in one promotion: just below its limit of bytes. */
const PROMOTED = 12;

/** Makes the request that copies secrets of the largest realm to another environment. @param part which of them */
export function promotionOf(target: Target, part = 0): RequestText {
	const count = scaled(target, PROMOTED);
	const secrets = Array.from({ length: count }, (_, at) => ({ key: `LARGE_${part * count + at}` }));
	return posting(`/api/v1/realms/${target.slug}/promote`, { from: "dev", to: "prod", secrets }, signedIn(target));
}

/** Many requests, and requests that are hard to parse. */
export const REQUESTS: readonly Attack[] = [
	{
		name: "flood",
		title: "256 connections that request one secret as fast as they can",
		async run(target, counts, over) {
			const { slug, key } = target;
			const asking = bytesOf({ path: `/api/v1/realms/${slug}/secrets/${key}`, headers: signedIn(target) });
			const source = sourceOf(target, 0);
			const connections = Array.from({ length: scaled(target, 256) }, () =>
				askWithoutPause(target, source, () => asking, counts, over),
			);
			await Promise.all(connections);
		},
	},
	{
		name: "json",
		title: "malformed JSON of 0.95 MB, 12 kinds, 4 connections",
		run(target, counts, over) {
			const next = postingInTurn(MALFORMED);
			return keepAsking(target, { connections: 4, source: () => sourceOf(target, 0), next }, counts, over);
		},
	},
	{
		name: "json-valid",
		title: "valid JSON of up to 0.95 MB, wide and deep, 6 kinds, 4 connections",
		run(target, counts, over) {
			const next = postingInTurn(VALID);
			return keepAsking(target, { connections: 4, source: () => sourceOf(target, 0), next }, counts, over);
		},
	},
	{
		name: "watch",
		title: "200 programs that check every second for a changed secret",
		run(target, counts, over) {
			const path = `/api/v1/realms/${target.slug}/secrets?env=dev&values=false`;
			const askers = {
				connections: scaled(target, 200),
				source: (at: number) => sourceOf(target, at % 4),
				next: () => ({ path, headers: signedIn(target) }),
				everyMs: 1000,
			};
			return keepAsking(target, askers, counts, over);
		},
	},
	{
		name: "promote",
		title: "promotions of 2 MB of the largest realm, 8 connections",
		/** Makes room for the 20 versions that are kept of each copy. */
		async prepare(target) {
			const { id } = JSON.parse((await ask(target, { path: "/api/v1/auth/whoami" }, target.token)).body);
			const limits = posting(`/api/v1/users/${id}/limits`, { realm_bytes: 2 ** 30 });
			await ask(target, { ...limits, method: "PUT" }, target.admin);
		},
		run(target, counts, over) {
			const text = promotionOf(target);
			return keepAsking(target, { connections: 8, source: () => sourceOf(target, 0), next: () => text }, counts, over);
		},
	},
];
