import { isIP } from "node:net";

/** RFC 1035 §3.1. */
const MAX_CHARACTERS = 253;
const LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";
/** Labels between dots, after an optional wildcard. */
const HOST_NAME = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*$`);

/** Tells whether a text can be a DNS name of a certificate: a host name, `_` allowed, or one with a wildcard as its first label; no address. */
export function isHostName(text: string): boolean {
	return text.length <= MAX_CHARACTERS && HOST_NAME.test(text) && isIP(text) === 0;
}
