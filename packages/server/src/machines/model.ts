import * as v from "valibot";
import type { AuditEvent } from "../audit/model.ts";
import { atMost, Environment, errorMessage, PlainText, RequiredText } from "../messages.ts";
import { type Port, read, write } from "../operation.ts";
import { Role } from "../policy/model.ts";
import { Engines, Scopes } from "../tokens/model.ts";

/** Machines of one realm. Design: §13 */
export const MAX_MACHINES = 250;

/** Unexpired tokens of one machine that people made, and expired ones that are kept. Design: §13 */
export const MAX_MACHINE_TOKENS = 100;

/** Unexpired tokens of one machine that its trusts gave: none lives for more than an hour. Design: §13 */
export const MAX_TRUSTED_TOKENS = 1000;

/** The longest life of a machine's token. Design: §15 */
export const MAX_TOKEN_DAYS = 90;

/** A machine account as a request sets it. Design: §15 */
export const SetMachine = v.object({
	role: Role,
	scopes: Scopes,
	environment: v.nullish(Environment, null),
	engines: v.nullish(Engines, null),
	description: v.nullish(v.pipe(PlainText, atMost(255, "description")), ""),
});

/** Design: §15. */
export const CreateMachineToken = v.object({
	name: v.nullish(v.pipe(PlainText, atMost(255, "name")), ""),
	ttl: RequiredText,
});

const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** Names the characters that a machine's name may have. */
export const MACHINE_NAME_RULE = errorMessage(
	"validation_failed",
	"a machine's name must be 1 to 64 lower-case letters, digits, dots, hyphens and underscores, with a letter or digit at both ends",
);

/** Tells whether a text can name a machine. */
export function isMachineName(text: string): boolean {
	return NAME.test(text);
}

/** A machine account: it belongs to a realm. */
export interface Machine {
	/** UUID that appears where a user's would. */
	id: string;
	realm_id: string;
	/** Unique in its realm. */
	name: string;
	role: Role;
	/** Comma-separated, in the order of SCOPES. */
	scopes: string;
	environment: Environment | null;
	/** JSON: roles of engines, as in Actor. */
	engines: string | null;
	description: string;
	/** User who made it. */
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
}

/** A token of a machine: it may do what its machine may at the time of each request. */
export interface MachineToken {
	id: string;
	machine_id: string;
	name: string;
	prefix: string;
	/** SHA-256 of the token. */
	digest: Buffer;
	/** The trust that gave it; null for a token that a person made. */
	trust_id: string | null;
	/** User who made it; empty when a trust gave it. */
	created_by: string;
	/** ISO 8601 UTC. */
	created_at: string;
	expires_at: string;
	last_used_at: string | null;
}

/** A machine, the slug of its realm, and the account that it counts toward: see decide.ts. */
export interface NamedMachine extends Machine {
	realm: string;
	payer: string;
}

/** Operations of the store on machines. No read sees those of a deleted realm. */
export const machineOperations = {
	/** Adds the machine, unless its realm has too many, or changes the one of its name, which keeps its id and maker. */
	set: write<(machine: Machine, event: AuditEvent) => "done" | "realm_gone" | "limit_reached">(),
	byName: read<(realm_id: string, name: string) => Machine | undefined>(),
	byId: read<(id: string) => NamedMachine | undefined>(),
	/** Lists a realm's machines in the order of their names. */
	list: read<(realm_id: string, after: string, limit: number) => Machine[]>(),
	count: read<(realm_id: string) => number>(),
	/** Removes a machine with its tokens; false when there was none. */
	remove: write<(input: { realm_id: string; name: string }, event: AuditEvent) => boolean>(),
	/** Adds a token, unless the machine is gone or has too many of its kind that have not expired. */
	addToken: write<(token: MachineToken, event: AuditEvent) => "done" | "gone" | "limit_reached">({ forgets: [] }),
	tokens: read<(machine_id: string, after: string, limit: number) => MachineToken[]>(),
	countTokens: read<(machine_id: string) => number>(),
	/** Removes a machine's token; false when it has none of that id. */
	revokeToken: write<(input: { machine_id: string; id: string }, event: AuditEvent) => boolean>(),
};

/** The store's part for machines. */
export type MachineStore = Port<typeof machineOperations>;
