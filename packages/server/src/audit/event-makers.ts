import type { StrangeEvent } from "./comparison.ts";
import type { EventType } from "./event-types.ts";
import type { StoredEvent } from "./model.ts";

/** Facts of an event that say who made it, and what. */
export interface MakerFacts {
	request_id?: unknown;
	token_id?: unknown;
	session_id?: unknown;
	user_id?: unknown;
	/** `realm/name` of the machine that made it: then the actor is its id, and the token one of its own. */
	machine?: unknown;
	token_made?: unknown;
	expires_at?: unknown;
	/** The type of the event that follows and ends the same rows, when this one only names some of them. */
	of?: unknown;
}

/** A row as an event names it. */
interface Named {
	name: string;
	fingerprint: string | undefined;
}

type Maker = Pick<StrangeEvent, "kind" | "id">;

/** An event whose maker was not there. */
export type Strange = Omit<StrangeEvent, "problem" | "ended_by" | "since">;

/** Types whose writer checks the maker in the transaction that adds the event: one that had ended makes none. */
const CHECKED: ReadonlySet<string> = new Set<EventType>([
	"auth.logout",
	"auth.session.ended",
	"auth.password.changed",
	"auth.factor.created",
	"auth.factor.confirmed",
	"auth.factor.removed",
	"auth.recovery_codes.created",
	"auth.token.created",
	"auth.token.revoked",
	"sso.provider.set",
	"sso.provider.deleted",
	"sso.identity.linked",
	"sso.identity.unlinked",
	"user.disabled",
	"user.enabled",
	"user.limits.set",
	"user.reset.created",
	"user.factors.dropped",
	"invitation.created",
	"invitation.deleted",
	"realm.created",
	"realm.updated",
	"realm.transferred",
	"realm.deleted",
	"realm.restored",
	"secret.set",
	"secret.delete",
	"secret.restore",
	"secret.purge",
	"secret.rollback",
	"policy.binding.created",
	"policy.binding.changed",
	"policy.binding.deleted",
	"machine.set",
	"machine.deleted",
	"machine.token.created",
	"machine.token.revoked",
	"machine.trust.set",
	"machine.trust.deleted",
	"access.revoked",
	"engine.config.set",
	"engine.config.deleted",
	"engine.generate",
	"key.rotated",
	"backup.created",
	"backup.downloaded",
]);

/** Types of events that a visitor makes, about an account that may not be there or not be open to them. */
const BY_VISITORS: ReadonlySet<string> = new Set<EventType>([
	"auth.register",
	"auth.login",
	"auth.login.failed",
	"auth.factor.disabled",
	"auth.recovery_code.used",
]);

/** Milliseconds for which other events may come after the end of their maker: a request that had begun goes on. */
const LATE_MS = 15 * 60_000;

const TABLES = {
	...{ account: "account", token: "api_token", session: "session" },
	...{ machine: "machine", machine_token: "machine_token" },
} as const;
const ACCOUNT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Name of a maker's row in the log. */
export const makerName = ({ kind, id }: Maker) => `${TABLES[kind]}/${id}`;

/** Tables of the tokens that events make. */
const TOKEN_TABLES: Readonly<Record<string, string>> = {
	"auth.token.created": "api_token",
	"machine.token.created": "machine_token",
};

/** Tells whether a name is that of a row which can make events. */
const isMaker = (name: string) => /^(account|api_token|session|machine|machine_token)\//.test(name);

/**
 * Replays which accounts, tokens and sessions existed when each event was made. It begins where the log names every row, and remembers those that exist
 * and those that ended lately. Design: §13
 */
export class EventMakers {
	readonly #there = new Set<string>();
	/** Time of the end of those that ended in the last minutes. */
	readonly #ended = new Map<string, number>();
	readonly #disabled = new Map<string, number>();
	/** End of tokens that end by themselves, ISO 8601 UTC. */
	readonly #expires = new Map<string, string>();
	readonly #pending: Named[] = [];
	#isAdopting = false;

	/** Takes the next event, and tells which of its makers were not there. @param isMine says whether to look at a name */
	take(event: StoredEvent, facts: MakerFacts, rows: readonly Named[], isMine: (name: string) => boolean): Maker[] {
		const at_ms = Date.parse(event.timestamp);
		const isAdopting = event.type === "rows.adopted";
		if (event.type === "backup.restored") this.#endSessions();
		// It names all that is there.
		if (isAdopting && !this.#isAdopting) this.#there.clear();
		this.#isAdopting = isAdopting;
		this.#pending.push(...rows.filter(({ name }) => isMaker(name)));
		if (facts.of !== undefined) return [];
		const found = makersOf(event, facts).filter(
			(maker) => isMine(makerName(maker)) && !this.#isThere(makerName(maker), event, at_ms),
		);
		for (const { name, fingerprint } of this.#pending.splice(0)) this.#note(name, fingerprint, at_ms);
		this.#noteFacts(event, facts, at_ms);
		return found;
	}

	#isThere(name: string, { type, timestamp }: StoredEvent, at_ms: number): boolean {
		const isLate = !CHECKED.has(type);
		const ended_ms = this.#ended.get(name) ?? this.#disabled.get(name);
		if (ended_ms !== undefined || !this.#there.has(name))
			return isLate && ended_ms !== undefined && at_ms - ended_ms <= LATE_MS;
		const expires_at = this.#expires.get(name);
		if (expires_at === undefined || expires_at > timestamp) return true;
		return isLate && at_ms - Date.parse(expires_at) <= LATE_MS;
	}

	#note(name: string, fingerprint: string | undefined, at_ms: number): void {
		if (fingerprint !== undefined) {
			this.#there.add(name);
			this.#ended.delete(name);
			return;
		}
		this.#there.delete(name);
		this.#expires.delete(name);
		this.#ended.set(name, at_ms);
		for (const [oldest, ended_ms] of this.#ended) {
			if (at_ms - ended_ms <= LATE_MS) break;
			this.#ended.delete(oldest);
		}
	}

	#noteFacts({ type }: StoredEvent, { user_id, token_made, expires_at }: MakerFacts, at_ms: number): void {
		if (type === "user.disabled") this.#disabled.set(`account/${user_id}`, at_ms);
		else if (type === "user.enabled") this.#disabled.delete(`account/${user_id}`);
		const table = TOKEN_TABLES[type];
		if (table !== undefined && typeof expires_at === "string" && expires_at !== "")
			this.#expires.set(`${table}/${token_made}`, expires_at);
	}

	#endSessions(): void {
		for (const name of this.#there) if (name.startsWith("session/")) this.#there.delete(name);
	}
}

function makersOf({ type, actor }: StoredEvent, { request_id, machine, token_id, session_id }: MakerFacts): Maker[] {
	if (request_id === undefined) return [];
	// A JWT that lets a machine in is no token.
	const token = typeof token_id === "string" ? [{ kind: "machine_token", id: token_id } as const] : [];
	if (machine !== undefined) return [{ kind: "machine", id: actor }, ...token];
	return [
		...(ACCOUNT_ID.test(actor) && !BY_VISITORS.has(type) ? [{ kind: "account", id: actor } as const] : []),
		...(typeof token_id === "string" ? [{ kind: "token", id: token_id } as const] : []),
		...(typeof session_id === "string" ? [{ kind: "session", id: session_id } as const] : []),
	];
}
