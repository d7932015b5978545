/**
 * Restores the Buffers of a message between threads, which arrive as plain byte arrays, anywhere in a plain value. Other views stay. It changes the message
 * itself: a copy of thousands of rows would hold up the event loop for milliseconds.
 */
export function restoreBuffers(value: unknown): unknown {
	if (typeof value !== "object" || value === null) return value;
	if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
	if (ArrayBuffer.isView(value)) return value;
	const parts = value as Record<string | number, unknown>;
	const restore = (name: string | number) => {
		const part = parts[name];
		if (typeof part === "object" && part !== null) parts[name] = restoreBuffers(part);
	};
	if (Array.isArray(value)) for (let at = 0; at < value.length; at++) restore(at);
	else for (const name in parts) restore(name);
	return value;
}
