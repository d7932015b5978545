import type { Database } from "better-sqlite3";
import type { LogHead } from "../../audit/model.ts";
import { runInBatches } from "../in-batches.ts";
import { briefsInMemory } from "../memory/briefs.ts";
import { fromDeclarations, type Implementations, type Operations, READS_WHOLE_LOG } from "../store.ts";
import { currentVersions } from "./current-versions.ts";
import { drizzle } from "./drizzle.ts";
import { keySetOfSecrets } from "./key-sets.ts";
import type { ReadTransaction } from "./read-transaction.ts";
import type { ReadWorker } from "./read-worker.ts";
import { accountReads } from "./reads/accounts.ts";
import { commonReads } from "./reads/common.ts";
import { engineReads } from "./reads/engines.ts";
import { factorReads } from "./reads/factors.ts";
import { invitationReads } from "./reads/invitations.ts";
import { keyReads } from "./reads/keys.ts";
import { leaseReads } from "./reads/leases.ts";
import { machineReads } from "./reads/machines.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { resetReads } from "./reads/resets.ts";
import { restoreReads } from "./reads/restores.ts";
import { secretReads } from "./reads/secrets.ts";
import { ssoReads } from "./reads/sso.ts";
import { tokenReads } from "./reads/tokens.ts";
import { trustReads } from "./reads/trusts.ts";
import { schemaAlterations } from "./schema-alterations.ts";
import { secretCounts } from "./secret-counts.ts";
import { secretPages } from "./secret-pages.ts";
import type { WriteQueue } from "./writer.ts";

/** Threads and connections where operations run. */
interface Ways {
	writer: WriteQueue;
	connection: Database;
	transaction: ReadTransaction;
	/** For reads of one realm or token. */
	worker: ReadWorker;
	/** For questions that may read a whole table. */
	questions: ReadWorker;
	/** For questions that read all of the log, which would keep the others waiting for seconds. */
	comparer: ReadWorker;
	/** The newest event. */
	tip(): { seq: number; hash: Buffer };
	/** Names what did not fit the keys of rows, and what a change found. */
	altered(): readonly string[];
}

/** Questions that never read a whole table: they do not wait for those that may. */
const READ_PART: ReadonlySet<string> = new Set([
	...["secrets.currentVersions", "secrets.pairs", "secrets.keySet", "secrets.count"],
	...["secrets.deleted", "secrets.countDeleted"],
	...["tokens.listLineage", "tokens.countLineage", "audit.keys", "audit.latest"],
]);

type Run = (...args: never[]) => unknown;

/** Makes every operation of the port: this thread answers reads, the reading threads scans, the writer thread changes. */
export function createAdapter(ways: Ways): Operations {
	const { writer, connection, transaction, worker } = ways;
	const reads = readsOf(ways) as unknown as Record<string, Record<string, Run>>;
	const briefs = briefsInMemory() as unknown as Record<string, Record<string, Run>>;
	const operations = fromDeclarations((noun, verb, declared) => {
		if (declared.kind === "append") return writer.append;
		if (declared.kind === "brief") return briefs[noun]?.[verb];
		if (declared.kind === "scan") {
			const reader = readerOf(ways, `${noun}.${verb}`);
			return (...args: unknown[]) => reader.ask(noun, verb, args);
		}
		if (declared.kind === "read") return transaction.within(reads[noun]?.[verb] as Run);
		const run = writer.operation(noun, verb);
		return declared.inBatches ? runInBatches(run) : run;
	});
	return {
		...operations,
		secrets: {
			...operations.secrets,
			count: countedHere(connection, transaction, operations.secrets.count),
			currentVersions: fewHere(connection, transaction, operations.secrets.currentVersions),
			list: nearHere(connection, transaction, operations.secrets.list, worker),
			keySet: smallHere(connection, transaction, operations.secrets.keySet),
		},
	};
}

function readerOf({ worker, questions, comparer }: Ways, name: string): ReadWorker {
	if (READS_WHOLE_LOG.has(name)) return comparer;
	return READ_PART.has(name) ? worker : questions;
}

function readsOf({ connection, tip, altered }: Ways): Implementations<"read"> {
	const schema = schemaAlterations(connection);
	const db = drizzle({ client: connection });
	return {
		accounts: accountReads(db, connection),
		audit: { head: () => headAt(tip()) },
		backups: restoreReads(connection),
		common: commonReads(connection),
		engines: engineReads(db),
		factors: factorReads(db),
		health: { alterations: () => [...new Set([...schema(), ...altered()])] },
		invitations: invitationReads(db),
		keys: keyReads(db),
		leases: leaseReads(db),
		machines: machineReads(db),
		policy: policyReads(db),
		realms: realmReads(db),
		resets: resetReads(db),
		secrets: secretReads(db, connection),
		sso: ssoReads(db),
		tokens: tokenReads(db),
		trusts: trustReads(db),
	};
}

/** Describes the log up to its newest event: SQLite has one chain, so the number of an event is its position, too. */
function headAt({ seq, hash }: ReturnType<Ways["tip"]>): LogHead {
	return { events: seq, hash, position: String(seq) };
}

/** Maximum number of names read on this thread: 400 take 2 to 3 ms, but 10 to 25 ms the first time after a start. */
const FEW_NAMES = 400;

type CurrentVersions = Operations["secrets"]["currentVersions"];

/** Asks the worker only for many names: it may be busy with a long question. */
function fewHere(connection: Database, transaction: ReadTransaction, many: CurrentVersions): CurrentVersions {
	const read = transaction.within(currentVersions(connection).few);
	return async (realm_id, environment, expired_by) =>
		(await read(realm_id, environment, expired_by, FEW_NAMES)) ?? many(realm_id, environment, expired_by);
}

/** Maximum number of secrets counted on this thread: 0.1 ms. */
const FEW_COUNTED = 1000;

type Count = Operations["secrets"]["count"];

/** Asks the worker only for the count of a large realm. */
function countedHere(connection: Database, transaction: ReadTransaction, all: Count): Count {
	const count = transaction.within(secretCounts(connection).few);
	return async (realm_id, environment) => count(realm_id, environment, FEW_COUNTED) ?? all(realm_id, environment);
}

type List = Operations["secrets"]["list"];

/** Asks the worker for a page whose secrets lie far apart. */
function nearHere(connection: Database, transaction: ReadTransaction, here: List, worker: ReadWorker): List {
	const isNear = transaction.within(secretPages(connection).isNear);
	const there = worker.question("secrets", "list");
	return async (...page) => ((await isNear(...page)) ? here(...page) : there(...page));
}

/** Names the keys of few secrets here, for the same reason. */
function smallHere(connection: Database, transaction: ReadTransaction, large: Operations["secrets"]["keySet"]) {
	const name = transaction.within(keySetOfSecrets(connection));
	return async (ids: Float64Array) => (ids.length <= FEW_NAMES ? name(ids) : large(ids));
}
