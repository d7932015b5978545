import { isIP } from "node:net";

/** RFC 1035 §3.1. */
const MAX_CHARACTERS = 253;
const LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
/** Labels between dots, before which a wildcard may stand. */
const HOST_NAME = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*$`);

/** Whether a text can be a DNS name of a certificate: a host name, `_` allowed, or a wildcard for the first label of one; no address. */
export function isHostName(text: string): boolean {
	return text.length <= MAX_CHARACTERS && HOST_NAME.test(text) && isIP(text) === 0;
}
