/** Makes Buffers again of the bare byte arrays that cross between threads, anywhere in a plain value. Other views stay. */
export function withBuffers(value: unknown): unknown {
	if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
	if (ArrayBuffer.isView(value)) return value;
	if (Array.isArray(value)) return value.map(withBuffers);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withBuffers(inner)]));
}
