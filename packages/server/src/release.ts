/** Size from which memory is freed early. */
const LARGE_BYTES = 64 * 1024;

/**
 * Frees a large buffer that is no longer used, without waiting for the garbage collector, which runs only once a thread holds 64 MB of them. Small buffers
 * and parts of a larger one are left alone.
 */
export function release(bytes: Uint8Array): void {
	const { buffer, byteLength } = bytes;
	if (byteLength >= LARGE_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer)
		buffer.transfer(0);
}
