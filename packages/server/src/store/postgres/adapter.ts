import type { AuditEvent } from "../../audit/model.ts";
import type { RowKey, RowMacs } from "../../crypto/row-macs.ts";
import { runInBatches } from "../in-batches.ts";
import { eventsOf } from "../low-disk.ts";
import type { Marks } from "../row-ledger.ts";
import { fromDeclarations, type Implementations, type Operations, READS_WHOLE_LOG } from "../store.ts";
import { LOSS_ACCEPTED } from "../unsuitable.ts";
import { createBriefs } from "./briefs/briefs.ts";
import type { Session, Sql } from "./connection.ts";
import type { All, Change, Snapshot } from "./database.ts";
import type { FindAlterations } from "./migrate.ts";
import { askAgain, countUnknownKeys } from "./newer-keys.ts";
import { withoutNullCharacters } from "./null-characters.ts";
import type { ProvedAnswers } from "./proved-answers.ts";
import type { PoolName, ReadPool } from "./read-pools.ts";
import { accountReads } from "./reads/accounts.ts";
import { auditReads } from "./reads/audit.ts";
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
import { revocationReads } from "./reads/revocations.ts";
import { secretReads } from "./reads/secrets.ts";
import { ssoReads } from "./reads/sso.ts";
import { tokenReads } from "./reads/tokens.ts";
import { trustReads } from "./reads/trusts.ts";
import { createRows } from "./rows.ts";
import type { Writer } from "./writer.ts";
import { accountWrites } from "./writes/accounts.ts";
import { auditWrites } from "./writes/audit.ts";
import { commonWrites } from "./writes/common.ts";
import { engineWrites } from "./writes/engines.ts";
import { factorWrites } from "./writes/factors.ts";
import { invitationWrites } from "./writes/invitations.ts";
import { keyWrites } from "./writes/keys.ts";
import { leaseWrites } from "./writes/leases.ts";
import { machineWrites } from "./writes/machines.ts";
import { setMeta } from "./writes/meta.ts";
import { policyWrites } from "./writes/policy.ts";
import { realmWrites } from "./writes/realms.ts";
import { resetWrites } from "./writes/resets.ts";
import { restoreWrites } from "./writes/restores.ts";
import { revocationWrites } from "./writes/revocations.ts";
import { secretWrites } from "./writes/secrets.ts";
import { ssoWrites } from "./writes/sso.ts";
import { tokenWrites } from "./writes/tokens.ts";
import { trustWrites } from "./writes/trusts.ts";

/** Where operations run. */
interface Ways {
	pools: Record<PoolName, ReadPool>;
	writer: Writer;
	change: Change;
	/** Runs statements of their own, which wait for no change. */
	statements: Sql;
	macs: RowMacs;
	/** Remembers answers, and learns which keys other servers have made. */
	answers: ProvedAnswers;
	/** Reads the marks of the state that a transaction reads. */
	marksIn(sql: Sql): Promise<Marks>;
	/** Whether other servers claim leases, too. */
	isShared: boolean;
	/** Returns the keys of rows, the active one first; none before the store got them. */
	keys(): readonly RowKey[];
	/** Names what another program altered, in the state that the transaction reads. */
	alterations: FindAlterations;
}

type Run = (...args: unknown[]) => Promise<unknown>;
type Runs = Record<string, Record<string, Run>>;

/** Makes every operation of the port. */
export function createAdapter(ways: Ways): Operations {
	const { pools, writer, change, macs, statements, isShared, answers, marksIn } = ways;
	const writes = writesOf(change) as unknown as Runs;
	const briefs = createBriefs({ change, writer, pool: pools.requests, statements }) as unknown as Runs;
	const unknown_keys = countUnknownKeys(macs);
	const newest = { keys: ways.keys, catchUp: answers.prove };
	const reads = new WeakMap<Session, Runs>();
	const readsFor = (session: Session): Runs => {
		const sql = withoutNullCharacters(session);
		const known = reads.get(session) ?? (readsOf({ ...createRows(sql, unknown_keys), sql }, ways) as unknown as Runs);
		reads.set(session, known);
		return known;
	};
	return fromDeclarations((noun, verb, declared) => {
		const name = `${noun}.${verb}`;
		if (declared.kind === "brief") return briefs[noun]?.[verb];
		if (declared.kind === "append") return (event: AuditEvent) => writer.append(event);
		if (declared.kind === "write") {
			const operation = writes[noun]?.[verb] as Run;
			const run: Run = (...args) => writer.run(operation, args, eventsOf(declared, args), declared.forgets);
			return declared.inBatches ? runInBatches(run) : run;
		}
		const long = READS_WHOLE_LOG.has(name) ? pools.everything : pools.long;
		const pool = declared.kind === "read" ? pools.requests : long;
		const runOf = (session: Session) => readsFor(session)[noun]?.[verb] as Run;
		// Learning the newest keys asks for the rows of keys, which have no key themselves.
		const mayRepeat = isShared && noun !== "keys";
		const askOnce = <Answer>(ask: () => Promise<Answer>) => (mayRepeat ? askAgain(ask, unknown_keys, newest) : ask());
		if (isShared && declared.kind === "read" && declared.cached !== undefined)
			return answers.remember(declared.cached, (...args) =>
				askOnce(() =>
					pool.ask(async (session) => ({ answer: await runOf(session)(...args), marks: await marksIn(session) })),
				),
			);
		return (...args: unknown[]) => askOnce(() => pool.ask((session) => runOf(session)(...args)));
	});
}

function readsOf(
	db: Snapshot,
	{ alterations, isShared, keys }: Pick<Ways, "alterations" | "isShared" | "keys">,
): All<Implementations<"read"> & Implementations<"scan">> {
	return {
		accounts: accountReads(db),
		audit: auditReads(db, keys),
		backups: restoreReads(db),
		common: commonReads(db),
		engines: engineReads(db),
		factors: factorReads(db),
		health: { alterations: () => alterations(db.sql) },
		invitations: invitationReads(db),
		keys: keyReads(db),
		leases: leaseReads(db, isShared),
		machines: machineReads(db),
		policy: policyReads(db),
		realms: realmReads(db),
		resets: resetReads(db),
		revocations: revocationReads(db),
		secrets: secretReads(db),
		sso: ssoReads(db),
		tokens: tokenReads(db),
		trusts: trustReads(db),
	};
}

function writesOf(db: Change): All<Implementations<"write">> {
	return {
		accounts: accountWrites(db),
		audit: auditWrites(db),
		backups: restoreWrites(db),
		common: commonWrites(db),
		engines: engineWrites(db),
		factors: factorWrites(db),
		health: {
			probe: (at) => setMeta(db, "probe", at),
			async acceptLoss(at, event) {
				await setMeta(db, LOSS_ACCEPTED, at);
				db.append(event);
			},
		},
		invitations: invitationWrites(db),
		keys: keyWrites(db),
		leases: leaseWrites(db),
		machines: machineWrites(db),
		policy: policyWrites(db),
		realms: realmWrites(db),
		resets: resetWrites(db),
		revocations: revocationWrites(db),
		secrets: secretWrites(db),
		sso: ssoWrites(db),
		tokens: tokenWrites(db),
		trusts: trustWrites(db),
	};
}
