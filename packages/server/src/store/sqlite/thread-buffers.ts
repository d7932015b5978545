/** Restores the Buffers of a message between threads, which arrive as plain byte arrays, anywhere in a plain value. Other views stay. */
export function restoreBuffers(value: unknown): unknown {
	if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
	if (ArrayBuffer.isView(value)) return value;
	if (Array.isArray(value)) return value.map(restoreBuffers);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, restoreBuffers(inner)]));
}
