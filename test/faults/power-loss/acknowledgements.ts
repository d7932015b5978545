/** The promise of an answer: this request's event is durable and, for a write of a secret, so is this version. */
export interface Promised {
	readonly requestId: string;
	readonly key?: string;
	readonly environment?: string;
	readonly version?: number;
}

/**
 * Finds promises in the server's output to a socket: the identifiers in every successful answer, as texts for `promised`.
 * Spec: API › Secrets and encryption.
 */
export function acknowledgements(written: string): string[] {
	const [head = "", body = ""] = written.split("\r\n\r\n", 2);
	if (!/^HTTP\/1\.1 2\d\d /.test(head)) return [];
	const requestId = /^x-request-id: (\S+)$/im.exec(head)?.[1];
	if (requestId === undefined) throw new Error("an answer without X-Request-Id cannot be followed to its event");
	const { key, environment, version } = JSON.parse(body);
	const isWrite = head.startsWith("HTTP/1.1 201 ") && version !== undefined;
	return [JSON.stringify(isWrite ? { requestId, key, environment, version } : { requestId })];
}

/** Parses a text of `acknowledgements`. */
export function promised(id: string): Promised {
	return JSON.parse(id);
}
