import { RECENTLY_MADE_MS } from "../revocation/model.ts";
import type { Difference, When } from "./comparison.ts";
import type { StoredEvent } from "./model.ts";

/** Rows of machines that grant access and that the log can confirm. */
export interface MachineRows {
	machines: {
		id: string;
		realm_id: string;
		name: string;
		role: string;
		scopes: string;
		environment: string | null;
		engines: string | null;
	}[];
	machine_tokens: { id: string; machine_id: string; expires_at: string }[];
}

/** Types of the events that grant a machine something or end it. */
export const MACHINE_TYPES = [
	"machine.set",
	"machine.deleted",
	"machine.token.created",
	"machine.token.revoked",
	"realm.deleted",
	"realm.purged",
	"access.revoked",
] as const;

type MachineType = (typeof MACHINE_TYPES)[number];

type Facts = Readonly<Record<string, string | number | boolean | undefined>>;

interface LoggedMachine {
	says: string;
	realm_id: string;
	made_by: string;
	made_at: string;
	by: When;
}

interface LoggedToken {
	machine_id: string;
	until: string;
	made_by: string;
	made_at: string;
	by: When;
}

/**
 * Replays the events of machines in order, then names the rows that differ. It remembers those that stand and the ends of those whose rows stand, so it
 * grows with the rows, not with the log. Design: §13
 */
export class LoggedMachines {
	readonly #standing: ReadonlySet<string>;
	readonly #machines = new Map<string, LoggedMachine>();
	readonly #tokens = new Map<string, LoggedToken>();
	/** Events that ended a row which stands, by its kind and id. */
	readonly #ended = new Map<string, When>();

	/** Effect of each type of event. */
	readonly #effects: Readonly<Record<MachineType, (event: StoredEvent, facts: Facts) => void>> = {
		"machine.set": (event, facts) => this.#set(event, facts),
		"machine.deleted": (event, { machine_id }) => this.#endMachine(String(machine_id), event),
		"machine.token.created": (event, { token_made, machine_id, expires_at }) => {
			// Others have expired, or ended: nothing tells of the first.
			if (!this.#standing.has(keyOf("machine_token", String(token_made)))) return;
			const [made_by, made_at] = [event.actor, event.timestamp];
			const token = { machine_id: String(machine_id), until: String(expires_at), made_by, made_at, by: event };
			this.#tokens.set(String(token_made), token);
		},
		"machine.token.revoked": (event, { token_revoked }) => this.#endToken(String(token_revoked), event),
		"realm.deleted": (event) => this.#endTokensOf(event.realm_id, event),
		"realm.purged": (event) => {
			for (const [id, { realm_id }] of this.#machines) if (realm_id === event.realm_id) this.#endMachine(id, event);
		},
		"access.revoked": (event, facts) => this.#revoke(event, facts),
	};

	/** @param rows those that are compared later */
	constructor({ machines, machine_tokens }: MachineRows) {
		this.#standing = new Set([
			...machines.map(({ id }) => keyOf("machine", id)),
			...machine_tokens.map(({ id }) => keyOf("machine_token", id)),
		]);
	}

	/** Takes the next event of one of the types; it ignores others. */
	take(event: StoredEvent): void {
		if (!(event.type in this.#effects)) return;
		this.#effects[event.type as MachineType](event, JSON.parse(event.data) as Facts);
	}

	/** Compares the rows with the events taken. */
	differences({ machines, machine_tokens }: MachineRows): Difference[] {
		const found: Difference[] = [];
		for (const machine of machines) {
			const logged = this.#machines.get(machine.id);
			const isSame = logged?.says === saysOf(machine);
			if (!isSame) found.push(this.#difference("machine", machine.id, logged?.by));
		}
		for (const { id, machine_id, expires_at } of machine_tokens) {
			const logged = this.#tokens.get(id);
			const isSame = logged !== undefined && logged.machine_id === machine_id && expires_at <= logged.until;
			if (!isSame) found.push(this.#difference("machine_token", id, logged?.by));
		}
		const seen = new Set(machines.map(({ id }) => id));
		for (const [id, { by }] of this.#machines) {
			if (!seen.has(id)) found.push({ kind: "machine", id, problem: "missing", seq: by.seq, since: by.timestamp });
		}
		return found;
	}

	#difference(kind: Kind, id: string, changed: When | undefined): Difference {
		const ended = this.#ended.get(keyOf(kind, id));
		const by = changed ?? ended;
		const problem = changed !== undefined ? "changed" : ended !== undefined ? "ended" : "unknown";
		return { kind, id, problem, seq: by?.seq, since: by?.timestamp };
	}

	#set(event: StoredEvent, { machine_id, name, role, scopes, environment, engines = "" }: Facts): void {
		const id = String(machine_id);
		const says = JSON.stringify([event.realm_id, name, role, scopes, environment, engines]);
		const { made_by = event.actor, made_at = event.timestamp } = this.#machines.get(id) ?? {};
		this.#machines.set(id, { says, realm_id: event.realm_id, made_by, made_at, by: event });
	}

	#endMachine(id: string, by: When): void {
		for (const [token, { machine_id }] of this.#tokens) if (machine_id === id) this.#endToken(token, by);
		this.#machines.delete(id);
		this.#noteEnd("machine", id, by);
	}

	#endToken(id: string, by: When): void {
		this.#tokens.delete(id);
		this.#noteEnd("machine_token", id, by);
	}

	#endTokensOf(realm_id: string, by: When): void {
		for (const [id, { machine_id }] of this.#tokens) {
			if (this.#machines.get(machine_id)?.realm_id === realm_id) this.#endToken(id, by);
		}
	}

	#revoke(event: StoredEvent, { user_id, with_made }: Facts): void {
		if (user_id === undefined) this.#endTokensOf(event.realm_id, event);
		if (with_made !== true) return;
		const since = new Date(Date.parse(event.timestamp) - RECENTLY_MADE_MS).toISOString();
		const isTheirs = ({ made_by, made_at }: LoggedMachine | LoggedToken) => made_by === user_id && made_at > since;
		for (const [id, machine] of this.#machines) if (isTheirs(machine)) this.#endMachine(id, event);
		for (const [id, token] of this.#tokens) if (isTheirs(token)) this.#endToken(id, event);
	}

	#noteEnd(kind: Kind, id: string, by: When): void {
		const key = keyOf(kind, id);
		if (this.#standing.has(key)) this.#ended.set(key, by);
	}
}

type Kind = "machine" | "machine_token";

const keyOf = (kind: Kind, id: string) => `${kind}\n${id}`;

function saysOf({ realm_id, name, role, scopes, environment, engines }: MachineRows["machines"][number]): string {
	const roles = engines === null ? "" : (JSON.parse(engines) as string[]).join();
	return JSON.stringify([realm_id, name, role, scopes, environment ?? "", roles]);
}
