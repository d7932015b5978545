import { ProviderUnavailable } from "../model.ts";

/** Characters of a provider's JWT, and of its header, which is decoded and parsed before its signature is verified. Design: §11 */
const [MAX_CHARACTERS, MAX_HEADER_CHARACTERS] = [65_536, 16_384];

/**
 * Refuses a JWT before any part of it is decoded.
 * @param name of the document, for the message
 * @throws ProviderUnavailable
 */
export function checkJwtSize(name: string, jwt: string): void {
	if (jwt.length > MAX_CHARACTERS) throw new ProviderUnavailable(`${name} is larger than 64 KiB`);
	// Without a dot, all of it is the header.
	const header = jwt.split(".", 1)[0] ?? "";
	if (header.length > MAX_HEADER_CHARACTERS)
		throw new ProviderUnavailable(`the header of ${name} is larger than 16 KiB`);
}

/** Finds the id_token in the answer to a code; undefined when there is none, which the library judges. */
export function idTokenOf(answer: Buffer): string | undefined {
	try {
		const { id_token } = JSON.parse(answer.toString()) as { id_token?: unknown };
		return typeof id_token === "string" ? id_token : undefined;
	} catch {
		return undefined;
	}
}
