import { hash } from "node:crypto";
import { createCache } from "../cache.ts";
import type { Awaitable } from "../operation.ts";
import type { KeyPart, KeySet } from "./key-parts.ts";
import type { AuditEvent, AuditStore } from "./model.ts";

/** Appends events of bulk reads, each with a reference to the set of its keys. */
export interface BulkReads {
	/**
	 * Appends the event. Resolves once it and the names of the set are durable.
	 * @param secret_ids numbers of the secrets: a number never stands for another key
	 * @param keySet makes the set of their keys; asked only when these secrets were not read together lately
	 */
	append(event: AuditEvent, secret_ids: Float64Array, keySet: () => Awaitable<KeySet>): Promise<void>;
}

/** Maximum number of sets whose hash is remembered, about 200 B each. */
const MAX_REMEMBERED = 4096;

/** Maximum number of parts stored in one transaction: 1,536 names, which take the writer some 10 ms. */
const PARTS_AT_ONCE = 4;

/**
 * Makes the recorder of bulk reads. A set that was named before costs a hash over the numbers of its secrets; a new one is named once, however
 * many ask for it at the same time. Design: §10
 */
export function createBulkReads(audit: Pick<AuditStore, "append" | "appendNaming" | "keepParts">): BulkReads {
	const known = createCache<string, string>(MAX_REMEMBERED);
	const naming = new Map<string, Promise<void>>();

	async function name(fingerprint: string, event: AuditEvent, keySet: () => Awaitable<KeySet>): Promise<void> {
		const set = await keySet();
		const parts = await keepFirst(audit, set.parts);
		await audit.appendNaming({ ...set, parts }, { ...event, data: { ...event.data, key_set: set.hash } });
		known.set(fingerprint, set.hash);
	}

	return {
		async append(event, secret_ids, keySet) {
			if (secret_ids.length === 0) return audit.append(event);
			const fingerprint = hash(
				"sha256",
				new Uint8Array(secret_ids.buffer, secret_ids.byteOffset, secret_ids.byteLength),
			);
			await naming.get(fingerprint)?.catch(() => undefined);
			const key_set = known.get(fingerprint);
			if (key_set !== undefined) return audit.append({ ...event, data: { ...event.data, key_set } });
			const named = name(fingerprint, event, keySet);
			naming.set(fingerprint, named);
			return named.finally(() => {
				if (naming.get(fingerprint) === named) naming.delete(fingerprint);
			});
		},
	};
}

/** Stores the names of a large set a few parts at a time, so that others' changes get their turn. @returns the parts, with those names that are left */
async function keepFirst(audit: Pick<AuditStore, "keepParts">, parts: readonly KeyPart[]): Promise<KeyPart[]> {
	const left = parts.filter(({ keys }) => keys !== undefined);
	const rest = left.splice(-PARTS_AT_ONCE);
	for (; left.length > 0; left.splice(0, PARTS_AT_ONCE)) await audit.keepParts(left.slice(0, PARTS_AT_ONCE));
	const isLeft = new Set(rest);
	return parts.map((part) => (isLeft.has(part) ? part : { hash: part.hash, keys: undefined }));
}
