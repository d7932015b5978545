import type { CurrentAccess } from "../../policy/decide.ts";

/** Access of makers, remembered while nothing changes it. */
export interface RememberedAccess {
	/** Returns what makers may at a time, ISO 8601 UTC. */
	at(time: string): CurrentAccess;
	/** Forgets all: between transactions, another program may change rows. */
	forget(): void;
}

/**
 * Remembers what makers may within one transaction, for events of the same millisecond: a batch is often of one maker, and the rows to look up,
 * with their MACs, take a twentieth of a write.
 * @param changes counts changes of rows that grant access; undefined where nobody counts, and nothing is remembered
 */
export function rememberAccess(
	accessAt: (time: string) => CurrentAccess,
	changes: () => number | undefined,
): RememberedAccess {
	let known: { time: string; changes: number | undefined; access: CurrentAccess } | undefined;
	return {
		at(time) {
			const now = changes();
			if (now === undefined) return accessAt(time);
			if (known?.time !== time || known.changes !== now)
				known = { time, changes: now, access: remembering(accessAt(time)) };
			return known.access;
		},
		forget() {
			known = undefined;
		},
	};
}

/** Remembers each answer. One that is an error is asked for again. */
function remembering(access: CurrentAccess): CurrentAccess {
	const accounts = new Map<string, ReturnType<CurrentAccess["account"]>>();
	const roles = new Map<string, ReturnType<CurrentAccess["role"]>>();
	return {
		account(maker) {
			const kind = maker.machine === undefined ? "person" : "machine";
			const name = [kind, maker.user_id, maker.jti ?? "", maker.token_id ?? ""].join(" ");
			return once(accounts, name, () => access.account(maker));
		},
		role: (realm_id, user_id) => once(roles, `${realm_id} ${user_id}`, () => access.role(realm_id, user_id)),
	};
}

function once<Answer>(known: Map<string, Answer>, key: string, find: () => Answer): Answer {
	const found = known.get(key);
	if (found !== undefined || known.has(key)) return found as Answer;
	const answer = find();
	known.set(key, answer);
	return answer;
}
