/**
 * Loads the answer of a request whose answer is on its way already. Node's Response comes with it, which takes an eighth of a start: call this once the
 * port is open, and before the adapter is loaded, which replaces the global Response. This answer must be of the original class.
 */
export async function loadAlreadySent(): Promise<Response> {
	const { RESPONSE_ALREADY_SENT } = await import("@hono/node-server/utils/response");
	return RESPONSE_ALREADY_SENT;
}
