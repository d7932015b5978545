/** One block of a PEM text (RFC 7468): the label of its BEGIN line, and the bytes. */
export interface PemBlock {
	label: string;
	der: Buffer;
}

/** The largest PEM text that is parsed. A certificate of ours with a hundred long names takes 40,000 characters. */
const MAX_PEM_CHARACTERS = 65_536;
const BEGIN = "-----BEGIN ";
const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----/;

/** Encodes `der` as a PEM block that ends with a line feed. */
export function encodePem(label: string, der: Buffer): string {
	const lines = der.toString("base64").replaceAll(/.{64}(?!$)/g, "$&\n");
	return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/**
 * Decodes a text with exactly one PEM block; text around the block is a comment, as OpenSSL writes it.
 * Returns undefined for everything else: no block, several blocks, broken base64, more than 65,536 characters.
 */
export function decodePem(text: string): PemBlock | undefined {
	if (text.length > MAX_PEM_CHARACTERS || text.indexOf(BEGIN) !== text.lastIndexOf(BEGIN)) {
		return undefined;
	}
	const [, label = "", base64 = ""] = BLOCK.exec(text) ?? [];
	try {
		const bytes = Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
		return bytes.length > 0 ? { label, der: Buffer.from(bytes.buffer) } : undefined;
	} catch {
		return undefined;
	}
}
