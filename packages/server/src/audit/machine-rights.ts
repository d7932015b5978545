import { RECENTLY_MADE_MS } from "../revocation/model.ts";
import { tokenLabel } from "../tokens/model.ts";
import { trustFacts } from "../trusts/model.ts";
import type { Difference, When } from "./comparison.ts";
import type { StoredEvent } from "./model.ts";
import { factsIn, rolesIn } from "./stored-json.ts";

type TrustRow = Parameters<typeof trustFacts>[0];

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
	machine_tokens: { id: string; machine_id: string; name: string; prefix: string; expires_at: string }[];
	trusts: TrustRow[];
}

/** Types of the events that grant a machine something or end it. */
export const MACHINE_TYPES = [
	"machine.set",
	"machine.deleted",
	"machine.token.created",
	"machine.token.revoked",
	"machine.trust.set",
	"machine.trust.deleted",
	"realm.restored",
	"realm.purged",
	"access.revoked",
] as const;

type MachineType = (typeof MACHINE_TYPES)[number];

type Facts = Readonly<Record<string, string | number | boolean | undefined>>;

interface LoggedMachine {
	terms: string;
	realm_id: string;
	made_by: string;
	made_at: string;
	by: When;
}

interface LoggedToken {
	machine_id: string;
	/** The trust that gave it. */
	trust_id: string | undefined;
	/** Stands for the names by which people know it; undefined in older events. */
	label: string | undefined;
	until: string;
	made_by: string;
	made_at: string;
	by: When;
}

interface LoggedTrust {
	machine_id: string;
	realm_id: string;
	facts: Facts;
	made_by: string;
	made_at: string;
	by: When;
}

/**
 * Replays the events of machines in order, then names the rows that differ. It remembers those that exist and the ends of those whose rows exist, so it
 * grows with the rows, not with the log. Design: §13
 */
export class LoggedMachines {
	readonly #current: ReadonlySet<string>;
	readonly #machines = new Map<string, LoggedMachine>();
	readonly #tokens = new Map<string, LoggedToken>();
	readonly #trusts = new Map<string, LoggedTrust>();
	/** Events that ended a row that exists, by its kind and id. */
	readonly #ended = new Map<string, When>();

	/** Effect of each type of event. */
	readonly #effects: Readonly<Record<MachineType, (event: StoredEvent, facts: Facts) => void>> = {
		"machine.set": (event, facts) => this.#set(event, facts),
		"machine.deleted": (event, { machine_id }) => this.#endMachine(String(machine_id), event),
		"machine.token.created": (event, { token_made, token_label, machine_id, trust_id, expires_at }) => {
			// Others have expired, or ended: nothing records the first.
			if (!this.#current.has(keyOf("machine_token", String(token_made)))) return;
			const [made_by, made_at] = [event.actor, event.timestamp];
			const [given_by, known_as] = [trust_id, token_label].map((fact) =>
				fact === undefined ? undefined : String(fact),
			);
			const token = { machine_id: String(machine_id), trust_id: given_by, label: known_as, until: String(expires_at) };
			this.#tokens.set(String(token_made), { ...token, made_by, made_at, by: event });
		},
		"machine.token.revoked": (event, { token_revoked }) => this.#endToken(String(token_revoked), event),
		"machine.trust.set": (event, facts) => this.#setTrust(event, facts),
		"machine.trust.deleted": (event, { trust_id }) => this.#endTrust(String(trust_id), event),
		// Those of a deleted realm grant nothing, and are removed in parts after its event.
		"realm.restored": (event) => {
			this.#endTokensOf(event.realm_id, event);
			for (const [id, { realm_id }] of this.#trusts) if (realm_id === event.realm_id) this.#endTrust(id, event);
		},
		"realm.purged": (event) => {
			for (const [id, { realm_id }] of this.#machines) if (realm_id === event.realm_id) this.#endMachine(id, event);
		},
		"access.revoked": (event, facts) => this.#revoke(event, facts),
	};

	/** @param rows those that are compared later */
	constructor({ machines, machine_tokens, trusts }: MachineRows) {
		this.#current = new Set([
			...machines.map(({ id }) => keyOf("machine", id)),
			...machine_tokens.map(({ id }) => keyOf("machine_token", id)),
			...trusts.map(({ id }) => keyOf("trust", id)),
		]);
	}

	/** Takes the next event of one of the types; it ignores others. */
	take(event: StoredEvent): void {
		if (!(event.type in this.#effects)) return;
		const facts = factsIn(event.data);
		if (facts !== undefined) this.#effects[event.type as MachineType](event, facts as Facts);
	}

	/** Compares the rows with the events taken. */
	differences({ machines, machine_tokens, trusts }: MachineRows): Difference[] {
		const found: Difference[] = [];
		for (const machine of machines) {
			const logged = this.#machines.get(machine.id);
			const isSame = logged?.terms === termsOf(machine);
			if (!isSame) found.push(this.#difference("machine", machine.id, logged?.by));
		}
		for (const token of machine_tokens) {
			const { id, machine_id, expires_at } = token;
			const logged = this.#tokens.get(id);
			const isSame = logged !== undefined && logged.machine_id === machine_id && expires_at <= logged.until;
			const isSameName = logged?.label === undefined || logged.label === tokenLabel(token);
			if (!isSame || !isSameName) found.push(this.#difference("machine_token", id, logged?.by));
		}
		for (const trust of trusts) {
			const logged = this.#trusts.get(trust.id);
			const isSame = Object.entries(trustFacts(trust)).every(([name, fact]) => logged?.facts[name] === fact);
			if (!isSame) found.push(this.#difference("trust", trust.id, logged?.by));
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
		const terms = JSON.stringify([event.realm_id, name, role, scopes, environment, engines]);
		const { made_by = event.actor, made_at = event.timestamp } = this.#machines.get(id) ?? {};
		this.#machines.set(id, { terms, realm_id: event.realm_id, made_by, made_at, by: event });
	}

	#endMachine(id: string, by: When): void {
		for (const [token, { machine_id }] of this.#tokens) if (machine_id === id) this.#endToken(token, by);
		for (const [trust, { machine_id }] of this.#trusts) if (machine_id === id) this.#endTrust(trust, by);
		this.#machines.delete(id);
		this.#noteEnd("machine", id, by);
	}

	#endToken(id: string, by: When): void {
		this.#tokens.delete(id);
		this.#noteEnd("machine_token", id, by);
	}

	#setTrust(event: StoredEvent, facts: Facts): void {
		const machine_id = String(facts.machine_id);
		const isReplaced = (other: LoggedTrust) => other.machine_id === machine_id && other.facts.trust === facts.trust;
		for (const [id, other] of this.#trusts) if (isReplaced(other)) this.#endTrust(id, event);
		const id = String(facts.trust_id);
		if (!this.#current.has(keyOf("trust", id))) return;
		const [made_by, made_at, realm_id] = [event.actor, event.timestamp, event.realm_id];
		this.#trusts.set(id, { machine_id, realm_id, facts, made_by, made_at, by: event });
	}

	#endTrust(id: string, by: When): void {
		for (const [token, { trust_id }] of this.#tokens) if (trust_id === id) this.#endToken(token, by);
		this.#trusts.delete(id);
		this.#noteEnd("trust", id, by);
	}

	#endTokensOf(realm_id: string, by: When): void {
		for (const [id, { machine_id }] of this.#tokens) {
			if (this.#machines.get(machine_id)?.realm_id === realm_id) this.#endToken(id, by);
		}
	}

	#revoke(event: StoredEvent, { user_id, with_made, more }: Facts): void {
		if (user_id === undefined && more !== true) this.#endTokensOf(event.realm_id, event);
		if (with_made !== true) return;
		const since = new Date(Date.parse(event.timestamp) - RECENTLY_MADE_MS).toISOString();
		type Made = Pick<LoggedMachine, "made_by" | "made_at">;
		const isTheirs = ({ made_by, made_at }: Made) => made_by === user_id && made_at > since;
		// Where more is to end, what stands may be a part of that.
		const isOver = (id: string) => more !== true || !this.#current.has(keyOf("machine", id));
		for (const [id, machine] of this.#machines) if (isTheirs(machine) && isOver(id)) this.#endMachine(id, event);
		if (more === true) return;
		for (const [id, trust] of this.#trusts) if (isTheirs(trust)) this.#endTrust(id, event);
		for (const [id, token] of this.#tokens) if (isTheirs(token)) this.#endToken(id, event);
	}

	#noteEnd(kind: Kind, id: string, by: When): void {
		const key = keyOf(kind, id);
		if (this.#current.has(key)) this.#ended.set(key, by);
	}
}

type Kind = "machine" | "machine_token" | "trust";

const keyOf = (kind: Kind, id: string) => `${kind}\n${id}`;

function termsOf({ realm_id, name, role, scopes, environment, engines }: MachineRows["machines"][number]): string {
	return JSON.stringify([realm_id, name, role, scopes, environment ?? "", rolesIn(engines)]);
}
