import { accountOperations } from "../accounts/model.ts";
import { attemptOperations } from "../attempts/model.ts";
import { type AuditEvent, type AuditStore, auditOperations } from "../audit/model.ts";
import { type BackupSource, backupOperations, type IntegrityReport } from "../backups/model.ts";
import type { RowKey } from "../crypto/row-macs.ts";
import type { Durability } from "../doctor/model.ts";
import { engineOperations } from "../engines/model.ts";
import { factorOperations } from "../factors/model.ts";
import type { StoreState } from "../health/model.ts";
import { invitationOperations } from "../invitations/model.ts";
import { listedKeyOperations } from "../keys/model.ts";
import { type LeaseClaims, leaseOperations } from "../leases/model.ts";
import { machineOperations } from "../machines/model.ts";
import { commonOperations, type Duties, type Node, type OwnNode, type ReportedKeys } from "../nodes/model.ts";
import { type Implementation, type Operation, type Port, read, write } from "../operation.ts";
import { policyOperations } from "../policy/model.ts";
import { realmOperations } from "../realms/model.ts";
import { resetOperations } from "../resets/model.ts";
import { revocationOperations } from "../revocation/model.ts";
import { secretOperations } from "../secrets/model.ts";
import { ssoOperations } from "../sso/model.ts";
import { tokenOperations } from "../tokens/model.ts";
import { trustOperations } from "../trusts/model.ts";

/**
 * Every operation of the port, by noun: its arguments, its result, its kind, and the caches that it invalidates. Adapters, messages to threads and
 * caches derive from it. Design: §14.
 */
const OPERATIONS = {
	accounts: accountOperations,
	attempts: attemptOperations,
	audit: auditOperations,
	backups: backupOperations,
	common: commonOperations,
	engines: engineOperations,
	factors: factorOperations,
	health: {
		/** Writes a row, to find out whether writing succeeds. */
		probe: write<(at: string) => void>({ forgets: [] }),
		/** Keeps when somebody accepted that the database has lost changes, ISO 8601 UTC. */
		acceptLoss: write<(at: string, event: AuditEvent) => void>({ forgets: [] }),
		/** Names what in the database is not as the server left it. */
		alterations: read<() => string[]>(),
	},
	invitations: invitationOperations,
	keys: listedKeyOperations,
	leases: leaseOperations,
	machines: machineOperations,
	policy: policyOperations,
	realms: realmOperations,
	resets: resetOperations,
	revocations: revocationOperations,
	secrets: secretOperations,
	sso: ssoOperations,
	tokens: tokenOperations,
	trusts: trustOperations,
};

type Nouns = typeof OPERATIONS;

/** Operations that read the whole log, which takes longer than any other question. */
export const READS_WHOLE_LOG: ReadonlySet<string> = new Set(["audit.verify", "audit.compare"]);

/** The operations of the port as rules call them, by noun. */
export type Operations = { [Noun in keyof Nouns]: Port<Nouns[Noun]> } & { audit: AuditStore };

/** An adapter's operations of one kind, by noun: they run within a transaction, without a promise. */
export type Implementations<Kind extends Operation["kind"]> = {
	[Noun in keyof Nouns as Nouns[Noun][keyof Nouns[Noun]] extends infer Declared
		? Extract<Declared, { kind: Kind }> extends never
			? never
			: Noun
		: never]: Implementation<Nouns[Noun], Kind>;
};

/** Short-lived facts, as an adapter answers them: within a transaction, or in memory. */
export type Briefs = Implementations<"brief">;

/** The declaration of each operation, by `noun.verb`. */
export const DECLARATIONS: ReadonlyMap<string, Operation> = new Map(
	Object.entries<Record<string, Operation>>(OPERATIONS).flatMap(([noun, verbs]) =>
		Object.entries(verbs).map(([verb, declared]) => [`${noun}.${verb}`, declared]),
	),
);

/** Makes every operation of the port from its declaration. */
export function fromDeclarations(make: (noun: string, verb: string, declared: Operation) => unknown): Operations {
	const nouns = Object.entries<Record<string, Operation>>(OPERATIONS).map(([noun, verbs]) => [
		noun,
		Object.fromEntries(Object.entries(verbs).map(([verb, declared]) => [verb, make(noun, verb, declared)])),
	]);
	return Object.fromEntries(nouns) as Operations;
}

/** Seconds that the long question in work has taken, and the number of questions that took too long. */
export interface QuestionTimes {
	seconds: number;
	refused: number;
}

/**
 * The server's storage. A change is a named operation that is decided, applied and audited in one transaction; reads of few rows may be
 * answered immediately, everything else is asynchronous. Design: §4, §14.
 */
export interface Store extends Operations, BackupSource {
	/**
	 * Gives the store the keys that its rows are authenticated with, the active one first. Until then rows grant nothing.
	 * Afterwards `health.alterations` names what does not fit. Later keys take the place of the first ones. Design: §13
	 */
	guard(keys: RowKey[]): Promise<void>;
	/**
	 * Reads what other servers have changed: newer keys, and alterations that they found. Each request begins with it.
	 * Undefined where no other server uses the store.
	 */
	keepUp: (() => Promise<void>) | undefined;
	/** Sets the function that reads the keys again after another server has replaced one. */
	readKeysWith(read: () => Promise<void>): void;
	/** Compares all rows with what the last transaction left: a thread of its own reads every row. Nothing fits before `guard`. */
	checkIntegrity(): Promise<IntegrityReport>;
	/** Resolves when a change finds that another program has altered the database meanwhile; `health.alterations` names what. */
	altered: Promise<void>;
	/** Reports alterations to all servers that use the store: from then on, none of them trusts it. */
	reportAltered(found: readonly string[]): Promise<void>;
	/** Names the system that stores the data, and tells whether it works. */
	state(): StoreState;
	/** Returns the seconds that the database took to answer its last question about itself; undefined where there is none. */
	answerSeconds(): number | undefined;
	/** Tells whether the server signs in to its database as a superuser. */
	isSuperuser(): Promise<boolean>;
	/** Reads what decides whether a database on the network may lose an answered write; undefined for a file of this machine. */
	durability(): Promise<Durability | undefined>;
	/** Claims of leases among the servers that use the store. */
	claims: LeaseClaims;
	/** Work that one of these servers does for all. */
	duties: Duties;
	/** Runs work that only one server may do at a time, such as making the first keys. */
	alone<Result>(work: () => Promise<Result>): Promise<Result>;
	/** Reads the clock that judges leases on all servers that use the store, in Unix milliseconds; undefined where that of this machine does. */
	time: (() => Promise<number>) | undefined;
	/** Joins the servers that use the store, until it is closed. @param report names its master keys at each sign of life */
	join(node: OwnNode, report: () => Promise<ReportedKeys>): Promise<void>;
	/** Lists the servers that use the store, in the order in which they joined. */
	nodes(): Promise<Node[]>;
	/** Tells whether a write succeeds now and leaves room for more; while none does, it tries at most once a second. */
	isWritable(now: Date): Promise<boolean>;
	/** Highest number of events of one account or source in the last second while the disk was low, and the number of refused ones. */
	eventsOnLowDisk(): { most: number; refused: number };
	/** Tells how long the long question in work has taken, and how many took too long. */
	questionTimes(): QuestionTimes;
	/** Finishes the queued operations and releases the files. */
	close(): Promise<void>;
}
