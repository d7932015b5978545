import assert from "node:assert/strict";
import type { Answer } from "../../harness/client.ts";
import { ok } from "../../harness/expect.ts";
import type { Secret } from "../../harness/resources.ts";

/** A client's knowledge of one of its keys: the last answers, and the requests never answered. */
export interface Slot {
	readonly key: string;
	/** The highest version answered; 0 before the first write. */
	version: number;
	/** The value answered last; undefined when none was written or it was deleted. */
	value: string | undefined;
	/** A write or a deletion (value undefined) whose answer never came: it may or may not have happened. */
	doubt: { value: string | undefined } | undefined;
	/** Versions whose write was answered. */
	readonly written: number[];
	/** Answered deletions. */
	deletions: number;
	/** Answered reads of a value. */
	reads: number;
}

/** Returns a key that nobody has written yet. */
export function newSlot(key: string): Slot {
	return { key, version: 0, value: undefined, doubt: undefined, written: [], deletions: 0, reads: 0 };
}

/** Records the answer to a write of `value`. A version that does not follow the last one means that a write was lost. */
export function wrote(slot: Slot, value: string, answer: Answer<Secret>): void {
	const { version } = ok(answer, 201);
	assert.equal(version, slot.version + 1, `${slot.key} was at version ${slot.version}`);
	slot.written.push(version);
	Object.assign(slot, { version, value, doubt: undefined });
}

/** Records the answer to a deletion. */
export function deleted(slot: Slot, answer: Answer): void {
	assert.equal(answer.status, slot.value === undefined ? 404 : 200, `deletion of ${slot.key}`);
	if (answer.status === 200) slot.deletions += 1;
	Object.assign(slot, { value: undefined, doubt: undefined });
}

/** Compares the read with the record; after a kill this settles any doubt. */
export function read(slot: Slot, answer: Answer<Secret>): void {
	const { key, version, value, doubt } = slot;
	slot.doubt = undefined;
	if (answer.status === 404) {
		const mayBeAbsent = value === undefined || (doubt !== undefined && doubt.value === undefined);
		assert.ok(mayBeAbsent, `${key} is gone: version ${version} was answered`);
		slot.value = undefined;
		return;
	}
	const found = ok(answer);
	slot.reads += 1;
	const isUnanswered = doubt?.value !== undefined && found.version === version + 1;
	assert.equal(found.version, isUnanswered ? version + 1 : version, `version of ${key}`);
	assert.ok(found.value === (isUnanswered ? doubt.value : value), `${key} version ${found.version} has another value`);
	Object.assign(slot, { version: found.version, value: found.value });
}
