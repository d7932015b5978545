import { keepAsking, signedIn, touch } from "../asking.ts";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import { bytesOf, keepStanding, openSecure, type RequestText } from "../connection.ts";

const page = ({ slug }: Target): string => `/api/v1/realms/${slug}/secrets?env=dev&limit=100`;
const whole = ({ slug }: Target): string => `/api/v1/eso/${slug}?env=dev`;
const from = (target: Target) => () => sourceOf(target, 0);

/** Takes these requests in turn. */
function inTurn(target: Target, ...paths: readonly string[]): (at: number) => RequestText {
	let asked = 0;
	return (at) => ({ path: paths[(at + asked++) % paths.length] ?? "", headers: signedIn(target) });
}

/** Makes the server start the threads that read the log. */
function beginReading(target: Target): Promise<void> {
	const path = "/api/v1/audit/events?actor=nobody";
	return touch(
		target,
		{ path, headers: signedIn(target) },
		{ path: "/api/v1/audit/export", headers: signedIn(target) },
	);
}

/** Answers that are large or expensive to find, and answers that nobody reads. */
export const ANSWERS: readonly Attack[] = [
	{
		name: "unread",
		title: "100 large answers that are not read",
		isCutOff: true,
		run(target, counts, over) {
			const asking = [page(target), whole(target)].map((path) => bytesOf({ path, headers: signedIn(target) }));
			const open = (at: number) => {
				const socket = openSecure(target, sourceOf(target, 0));
				socket.once("secureConnect", () => socket.write(asking[at % 2] ?? ""));
				return socket;
			};
			return keepStanding({ standing: scaled(target, 100), perTick: 5, open }, counts, over);
		},
	},
	{
		name: "pages",
		title: "the largest realm, page by page and whole, 4 readers",
		run(target, counts, over) {
			const askers = { connections: 4, source: from(target), next: inTurn(target, page(target), whole(target)) };
			return keepAsking(target, askers, counts, over);
		},
	},
	{
		name: "streamed",
		title: "the largest realm whole, 256 simultaneous readers from 8 sources",
		run(target, counts, over) {
			const asking = { path: whole(target), headers: signedIn(target) };
			const askers = {
				connections: scaled(target, 256),
				source: (at: number) => sourceOf(target, at % 8),
				next: () => asking,
			};
			return keepAsking(target, askers, counts, over);
		},
	},
	{
		name: "exports",
		title: "exports of the audit log, 8 readers",
		prepare: beginReading,
		run(target, counts, over) {
			const next = inTurn(target, "/api/v1/audit/export", `/api/v1/audit/export?realm=${target.slug}`);
			return keepAsking(target, { connections: scaled(target, 8), source: from(target), next }, counts, over);
		},
	},
	{
		name: "audit",
		title: "queries of the audit log that find much, little and nothing, 16 connections",
		isAskedOfLog: true,
		prepare: beginReading,
		run(target, counts, over) {
			const queries = ["limit=100", "actor=nobody", "type=secret.created&limit=100", "type=none&actor=none"];
			const next = inTurn(target, ...queries.map((query) => `/api/v1/audit/events?${query}`));
			return keepAsking(target, { connections: scaled(target, 16), source: from(target), next }, counts, over);
		},
	},
];
