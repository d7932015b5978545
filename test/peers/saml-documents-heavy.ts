import { type Change, swap } from "./saml-documents.ts";

/** Bytes of a document whose base64 text has the maximum length of a form's field. */
export const LARGEST = (262_144 / 4) * 3;

/** Bytes of these that an honest response takes. */
const HONEST = 6000;

/** Inserts text into the response, outside the signed part. */
const beside = (text: string): Change => ({ finished: swap("<samlp:Status>", `${text}<samlp:Status>`) });

/** Inserts text among the attributes, and signs it. */
export const inside = (text: string): Change => ({
	assertion: swap("</saml:AttributeStatement>", `${text}</saml:AttributeStatement>`),
});

/** Inserts text among the attributes after they were signed. */
export const slippedIn = (text: string): Change => ({
	finished: swap("</saml:AttributeStatement>", `${text}</saml:AttributeStatement>`),
});

const nested = (count: number): string => "<a>".repeat(count) + "</a>".repeat(count);

/** Documents that exceed a form's limit. */
export const TOO_LARGE: Record<string, Change> = {
	"200,000 nested elements": beside(nested(200_000)),
	"50,000 attributes": beside(`<a ${Array.from({ length: 50_000 }, (_, at) => `a${at}=""`).join(" ")}></a>`),
};

/**
 * Makes the document that takes longest to read below every limit: thousands of elements with attributes, under many namespaces. It is
 * read once for each certificate of the provider.
 */
export function longest(): string {
	const spaces = Array.from({ length: 30 }, (_, at) => ` xmlns:n${at}="u${at}"`).join("");
	const attributes = Array.from({ length: 9 }, (_, at) => ` a${at}=""`).join("");
	const levels = 5;
	return `<a${spaces}>`.repeat(levels) + `<b${attributes}/>`.repeat(1900) + "</a>".repeat(levels);
}

/** Number of a provider's certificates with which `longest` takes about the longest time allowed. */
export const MANY_CERTIFICATES = 5;

/** Makes responses that take long to read. @param size bytes of each */
export function heavyDocuments(size: number): Record<string, Change> {
	const room = size - HONEST;
	/** Makes as many pieces as fit next to an honest response. */
	const fill = (piece: (at: number) => string): string => {
		const pieces: string[] = [];
		for (let at = 0, taken = 0; ; at++) {
			const next = piece(at);
			taken += next.length;
			if (taken > room) return pieces.join("");
			pieces.push(next);
		}
	};
	return {
		"as many nested elements as fit": beside(nested(room / 7)),
		"as many nested elements as fit, signed": inside(nested(room / 7)),
		"nested elements without an end": beside("<a>".repeat(room / 3)),
		"as many attributes as fit": beside(`<a${fill((at) => ` a${at}=""`)}></a>`),
		"as many namespaces as fit": beside(`<a${fill((at) => ` xmlns:a${at}="urn:${at}"`)}></a>`),
		"namespaces over namespaces": beside(fill((at) => `<a xmlns:a${at}="u"><b xmlns:c="d"/>`)),
		"as many elements as fit": beside(fill(() => "<a/>")),
		"as many ends as fit": beside(fill(() => "</a>")),
		"a tag of blanks": beside(`<a${" ".repeat(room)}`),
		"an attribute without an end": beside(`<a b="${"x".repeat(room)}`),
		"a name without an end": beside(`<${"a".repeat(room)}`),
		ampersands: beside("&".repeat(room)),
		references: beside(fill(() => "&#38;")),
		openings: beside("<".repeat(room)),
		quotes: beside(`<a b='${'"'.repeat(room)}>`),
		"entities of entities": {
			finished: (text) =>
				`<!DOCTYPE a [<!ENTITY a0 "x">${fill((at) => `<!ENTITY a${at + 1} "&a${at};&a${at};">`)}]>${text}`,
		},
	};
}
