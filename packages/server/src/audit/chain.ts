import { hash } from "node:crypto";
import type { StoredEvent } from "./model.ts";

/** Hash before the first event. */
export const GENESIS = Buffer.alloc(32);

const LABEL = "svc-audit-v1";

/**
 * Hashes an event: SHA-256 over the label, the sequence number, the previous hash and every field, each text preceded by its length in
 * bytes, so that no two different events have the same input.
 * @returns 32 bytes
 */
export function eventHash(previous: Buffer, event: Omit<StoredEvent, "hash">): Buffer {
	const fields = [event.timestamp, event.type, event.actor, event.realm_id, event.realm, event.data];
	let text = `${LABEL}\n${event.seq}\n${previous.toString("hex")}\n`;
	for (const field of fields) text += `${Buffer.byteLength(field)}:${field}`;
	return hash("sha256", text, "buffer");
}

/** An event's id: the first 122 bits of its hash as a UUID of version 8. It derives from the content, so it need not be stored. */
export function eventId(eventHash: Buffer): string {
	const hex = eventHash.toString("hex", 0, 16);
	const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Writes the text that a checkpoint signs. */
export function checkpointText(checkpoint: { seq: number; hash: Buffer; timestamp: string }): Buffer {
	return Buffer.from(
		`svc-audit-checkpoint-v1\n${checkpoint.seq}\n${checkpoint.hash.toString("hex")}\n${checkpoint.timestamp}\n`,
	);
}
