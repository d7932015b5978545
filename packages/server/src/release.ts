/** Size from which memory is freed early. */
const LARGE_BYTES = 64 * 1024;

/**
 * Frees the memory of large bytes that nobody uses any more. The garbage collector would do so only once a thread has 64 MB of them. Small bytes, and parts of
 * a larger buffer, stay.
 */
export function release(bytes: Uint8Array): void {
	const { buffer, byteLength } = bytes;
	if (byteLength >= LARGE_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer)
		buffer.transfer(0);
}
