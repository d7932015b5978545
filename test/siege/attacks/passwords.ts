import { keepAsking, posting, touch } from "../asking.ts";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import type { RequestText } from "../connection.ts";

/** Combining marks by class, highest first: to normalize them the server must sort them. */
const DESCENDING = [0x345, 0x35c, 0x300, 0x315, 0x31b, 0x323, 0x321, 0x334].map((code) => String.fromCodePoint(code));
const MARKS = `a${DESCENDING.map((mark) => mark.repeat(8192 / DESCENDING.length - 1)).join("")}`;

/** Signs in as somebody who does not exist, each time with a new name. */
function stranger(): () => RequestText {
	let asked = 0;
	return () =>
		posting("/api/v1/auth/login", { email: `nobody-${asked++}@example.test`, password: "a password, but no account" });
}

/** Resets a password, or registers by an invitation, with a code of the right form, each time another. */
function wrongCodes(): () => RequestText {
	let asked = 0;
	return () => {
		const email = `nobody-${asked++}@example.test`;
		const code = String(asked).padStart(32, "A");
		if (asked % 2 === 0)
			return posting("/api/v1/auth/reset", { email, code, new_password: "a password, but no account" });
		return posting("/api/v1/auth/register", { email, password: "a password, but no account", invitation: code });
	};
}

/** Makes the server start all hashing threads. */
const prepare = (target: Target): Promise<void> => touch(target, ...Array.from({ length: 4 }, stranger()));

/** Passwords: their hashes, and their processing before that. */
export const PASSWORDS: readonly Attack[] = [
	{
		name: "combining-marks",
		title: "passwords of 8,192 combining marks, signing in and registering, 8 connections",
		prepare,
		run(target, counts, over) {
			let asked = 0;
			const next = () => {
				const email = `marks-${asked++}@example.test`;
				if (asked % 2 === 0) return posting("/api/v1/auth/login", { email, password: MARKS });
				return posting("/api/v1/auth/register", { email, password: MARKS, name: "Marks" });
			};
			return keepAsking(target, { connections: 8, source: () => sourceOf(target, 0), next }, counts, over);
		},
	},
	{
		name: "codes",
		title: "resets and registrations with wrong codes, 16 connections from 4 sources",
		prepare,
		run(target, counts, over) {
			const next = wrongCodes();
			const askers = { connections: scaled(target, 16), source: (at: number) => sourceOf(target, at % 4), next };
			return keepAsking(target, askers, counts, over);
		},
	},
	{
		name: "argon2-one",
		title: "logins of strangers, 80 at a time, from one source",
		prepare,
		run: (target, counts, over) =>
			keepAsking(
				target,
				{ connections: scaled(target, 80), source: () => sourceOf(target, 0), next: stranger() },
				counts,
				over,
			),
	},
	{
		name: "argon2-many",
		title: "logins of strangers, 4 at a time, from each of 40 sources",
		prepare,
		run: (target, counts, over) =>
			keepAsking(
				target,
				{ connections: scaled(target, 160), source: (at) => sourceOf(target, at % 40), next: stranger() },
				counts,
				over,
			),
	},
];
