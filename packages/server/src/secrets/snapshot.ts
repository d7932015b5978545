import type { AuditEvent } from "../audit/model.ts";
import { AppError } from "../errors.ts";
import { type AccountSemaphore, createAccountSemaphore } from "../semaphore.ts";
import type { SecretStore, SecretVersion, VersionRef } from "./model.ts";
import type { BulkNeeds } from "./secrets.ts";

/** Rows, and bytes of sealed values, read at once. */
const GROUP_ROWS = 200;
const GROUP_BYTES = 256 * 1024;

/** Creates the semaphore of questions about whole realms: one thread answers them all, so that an account may have one there. Design: §13 */
export function createWholeReads(): AccountSemaphore {
	return createAccountSemaphore({
		name: "whole_reads_waiting_per_account",
		what: "reads of many secrets",
		each: 1,
		waiting: 256,
		hint: "one account reads whole environments in many requests at once: let it send one request after another",
	});
}

interface Needs {
	store: { secrets: Pick<SecretStore, "versionsAt"> };
}

/** Appends the event of a read of many secrets, with their keys. @throws AppError overloaded, when one has gone meanwhile */
export function appendBulk(
	{ store, bulk_reads }: Pick<BulkNeeds, "store" | "bulk_reads">,
	event: AuditEvent,
	secret_ids: Float64Array,
): Promise<void> {
	return bulk_reads.append(event, secret_ids, async () => (await store.secrets.keySet(secret_ids)) ?? refuseGone());
}

/** Takes the secrets' numbers, in their order, from a packed snapshot or comparison; zeros stand for none. */
export function secretIds(snapshot: Float64Array): Float64Array {
	const ids = new Float64Array(snapshot.length / 3);
	let count = 0;
	for (let at = 0; at < snapshot.length; at += 3) {
		const id = snapshot[at] ?? 0;
		if (id !== 0) ids[count++] = id;
	}
	return ids.subarray(0, count);
}

/**
 * Reads the versions that a list named, a group at a time. Versions never change, so the reader sees the state of the list's time; one that has
 * gone meanwhile ends the reading.
 * @throws AppError overloaded
 * Design: §13
 */
export async function* readVersions({ store }: Needs, refs: Iterable<VersionRef>): AsyncGenerator<SecretVersion[]> {
	for (const group of groupsOf(refs)) {
		const rows = await store.secrets.versionsAt(group);
		const found = rows.filter((row) => row !== undefined);
		if (found.length < group.length) throw gone();
		yield found;
	}
}

function* groupsOf(refs: Iterable<VersionRef>): Generator<VersionRef[]> {
	let group: VersionRef[] = [];
	let bytes = 0;
	for (const ref of refs) {
		if (group.length === GROUP_ROWS || (group.length > 0 && bytes + ref.bytes > GROUP_BYTES)) {
			yield group;
			group = [];
			bytes = 0;
		}
		group.push(ref);
		bytes += ref.bytes;
	}
	if (group.length > 0) yield group;
}

/** Yields the references in a packed snapshot. */
export function* unpack(snapshot: Float64Array): Generator<VersionRef> {
	for (let at = 0; at < snapshot.length; at += 3) {
		const [secret_id = 0, version = 0, bytes = 0] = snapshot.subarray(at, at + 3);
		yield { secret_id, version, bytes };
	}
}

/** A key in two environments. */
export interface VersionPair {
	from: VersionRef | undefined;
	to: VersionRef | undefined;
}

/** Yields the pairs in a packed comparison. */
export function* unpackPairs(pairs: Float64Array): Generator<VersionPair> {
	for (let at = 0; at < pairs.length; at += 6) {
		const [from, to] = unpack(pairs.subarray(at, at + 6));
		yield { from: thereOr(from), to: thereOr(to) };
	}
}

function thereOr(ref: VersionRef | undefined): VersionRef | undefined {
	return ref?.secret_id === 0 ? undefined : ref;
}

function refuseGone(): never {
	throw gone();
}

function gone(): AppError {
	const headers = { "retry-after": "1" };
	return new AppError("overloaded", "a secret was deleted while the list was read: try again", { headers });
}
