import { workerData } from "node:worker_threads";
import { createRowMacs, type RowKey } from "../../crypto/row-macs.ts";
import { AppError, type ErrorCode, type Unfinished } from "../../errors.ts";
import { system } from "../../system.ts";
import { answerQuestions } from "../../threads/answer-questions.ts";
import type { Implementations } from "../store.ts";
import { auditDays } from "./audit-days.ts";
import { auditLog } from "./audit-log.ts";
import { currentVersions } from "./current-versions.ts";
import { codeOf } from "./failure.ts";
import { keyCounts } from "./key-counts.ts";
import { keySetOfSecrets } from "./key-sets.ts";
import { leaseLists } from "./lease-lists.ts";
import { madeByUser } from "./made-by-user.ts";
import { openReader } from "./open.ts";
import { passkeyHosts } from "./passkey-hosts.ts";
import { realmLists } from "./realm-lists.ts";
import { guardReads } from "./row-guard.ts";
import { secretCounts } from "./secret-counts.ts";
import { secretLifecycle } from "./secret-lifecycle.ts";
import { secretPages } from "./secret-pages.ts";
import { snapshotQuestions } from "./snapshot-questions.ts";
import { restoreBuffers } from "./thread-buffers.ts";
import { limitTime, TookTooLong } from "./time-limit.ts";
import { tokenLineage } from "./token-lineage.ts";

/** A question to the thread: noun and verb, the arguments. */
export type ReadRequest = [noun: string, verb: string, ...args: unknown[]];

/** The database that the thread reads, the keys that its rows are authenticated with, and the time that a question about the log or leases may take. */
export interface ReadInput {
	file: string;
	row_keys: RowKey[];
	limit_ms: number;
}

/** Answer to a question; `refused`: a row that it needs was altered; `overdue`: it took too long, and what was found by then. */
export type ReadAnswer =
	| { value: unknown }
	| { refused: { code: ErrorCode; message: string } }
	| { overdue: Unfinished["found"] | undefined }
	| { error: string; code: string };

/** Questions that the thread answers, by noun. */
export type Questions = typeof questions;

const { file, limit_ms, ...given } = workerData as ReadInput;
let { row_keys } = given;
const db = openReader(file, "long");
const macs = createRowMacs(row_keys, system.randomBytes);
guardReads(db, macs);
const beginTime = limitTime(db);
const questions = {
	audit: { ...auditLog(db, () => row_keys), ...auditDays(db) },
	factors: passkeyHosts(db),
	keys: keyCounts(db),
	snapshots: snapshotQuestions(db),
	leases: leaseLists(db),
	realms: realmLists(db),
	revocations: madeByUser(db),
	secrets: {
		...currentVersions(db),
		...secretLifecycle(db),
		count: secretCounts(db).count,
		keySet: keySetOfSecrets(db),
		list: secretPages(db).list,
	},
	tokens: tokenLineage(db),
	row_keys: {
		use(keys: RowKey[]): void {
			row_keys = keys;
			macs.use(keys);
		},
	},
} satisfies Implementations<"scan"> & { snapshots: unknown; row_keys: unknown; secrets: { list: unknown } };

type Verb = (...args: unknown[]) => unknown;

answerQuestions(([noun, verb, ...args]: ReadRequest): ReadAnswer => {
	try {
		const question = (questions as unknown as Record<string, Record<string, Verb>>)[noun]?.[verb];
		if (question === undefined) throw new Error(`unknown question ${noun}.${verb}`);
		beginTime(limit_ms);
		return { value: question(...args.map(restoreBuffers)) };
	} catch (error) {
		if (error instanceof TookTooLong) return { overdue: error.found };
		if (error instanceof AppError) return { refused: { code: error.code, message: error.message } };
		return { error: (error as Error).message, code: codeOf(error) };
	}
});
