import { createCache } from "../../../cache.ts";
import { limitsText } from "../../../machines/decide.ts";
import type { CurrentAccess } from "../../../policy/decide.ts";
import type { Maker, Role } from "../../../policy/model.ts";
import type { Change, Snapshot } from "../database.ts";
import { liveRealm, roleById } from "../reads/realm-rows.ts";

/** Maximum number of remembered facts about makers. */
const MAX_FACTS = 16_384;

/** Account or machine of a session or token, and the time when that ends, ISO 8601 UTC; `~` when it has no end. */
interface Holder {
	holder: string;
	ends: string;
}

/** Facts that say what a maker may do, by ids. Each is undefined when there is none. */
interface AccessFacts {
	session(jti: string): Promise<Holder | undefined>;
	token(id: string): Promise<Holder | undefined>;
	machineToken(id: string): Promise<Holder | undefined>;
	/** Finds the limits of a machine whose realm is not deleted. */
	limits(machine_id: string): Promise<{ text: string } | undefined>;
	/** Finds an account that is not disabled. */
	account(user_id: string): Promise<{ instance_admin: boolean } | undefined>;
	/** Finds the role in a realm that is not deleted. */
	role(realm_id: string, user_id: string): Promise<Role | null | undefined>;
}

/** Rights of makers, as the running transaction reads them. */
export interface MakersAccess {
	of: Change["accessOf"];
	/** Forgets all facts: the transaction in which they were read was rolled back. */
	forget(): void;
}

/**
 * Looks up what makers may do, and remembers it from one transaction to the next.
 * @param mark returns the mark of access in the running transaction: facts hold while it is the same; undefined when none do
 */
export function createMakersAccess(db: Snapshot, mark: () => string | undefined): MakersAccess {
	const { facts, forget } = remembered(factsOf(db), mark);
	return {
		async of({ maker, timestamp }) {
			const account = await accountOf(facts, maker, timestamp);
			const roles = new Map<string, Role | null | undefined>();
			for (const grant of maker.grants) {
				if (grant !== "instance") roles.set(grant.realm_id, await facts.role(grant.realm_id, maker.user_id));
			}
			return { account: () => account, role: (realm_id) => roles.get(realm_id) };
		},
		forget,
	};
}

function factsOf(db: Snapshot): AccessFacts {
	return {
		async session(jti) {
			const [row] = await db.verified("session", "jti = $1", [jti]);
			return row && { holder: row.user_id, ends: row.expires_at };
		},
		async token(id) {
			const [row] = await db.verified("api_token", "id = $1", [id]);
			return row && { holder: row.user_id, ends: row.expires_at ?? NO_END };
		},
		async machineToken(id) {
			const [row] = await db.verified("machine_token", "id = $1", [id]);
			return row && { holder: row.machine_id, ends: row.expires_at ?? NO_END };
		},
		async limits(machine_id) {
			const [machine] = await db.verified("machine", "id = $1", [machine_id]);
			if (machine === undefined || (await liveRealm(db, machine.realm_id)) === undefined) return undefined;
			return { text: limitsText(machine) };
		},
		async account(user_id) {
			const [row] = await db.verified("account", "id = $1 AND disabled_at IS NULL", [user_id]);
			return row && { instance_admin: row.instance_admin };
		},
		role: (realm_id, user_id) => roleById(db, realm_id, user_id),
	};
}

const NO_END = "~";

/** Remembers facts under the mark at which they were read. That there is none is not remembered: a new token invalidates nothing. */
function remembered(facts: AccessFacts, mark: () => string | undefined): { facts: AccessFacts; forget: () => void } {
	const known = createCache<string, object | string>(MAX_FACTS);
	let held: string | undefined;
	const remembering =
		(name: string, find: (...ids: string[]) => Promise<object | string | null | undefined>) =>
		async (...ids: string[]) => {
			const current = mark();
			if (current === undefined) return find(...ids);
			if (current !== held) known.clear();
			held = current;
			const key = [name, ...ids].join(" ");
			const found = known.get(key) ?? (await find(...ids));
			if (found !== undefined && found !== null) known.set(key, found);
			return found;
		};
	const entries = Object.entries(facts).map(([name, find]) => [name, remembering(name, find)]);
	return { facts: Object.fromEntries(entries) as AccessFacts, forget: () => known.clear() };
}

async function accountOf(
	facts: AccessFacts,
	{ user_id, machine: caller, jti = "", token_id = "" }: Maker,
	at: string,
): Promise<ReturnType<CurrentAccess["account"]>> {
	const isHeld = (found: Holder | undefined) => found?.holder === user_id && found.ends > at;
	if (caller !== undefined) {
		const limits = isHeld(await facts.machineToken(token_id)) ? await facts.limits(user_id) : undefined;
		return limits && { instance_admin: false, limits: limits.text };
	}
	const holder = token_id === "" ? await facts.session(jti) : await facts.token(token_id);
	return isHeld(holder) ? facts.account(user_id) : undefined;
}
