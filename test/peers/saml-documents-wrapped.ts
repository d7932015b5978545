import {
	DS,
	plainSigning,
	type Said,
	type Signed,
	type SigningKey,
	withSignature,
	writeAssertion,
	writeResponse,
	writeSignature,
} from "./saml-documents.ts";

/** Places of the element that does not count for one reader, next to or inside the one that counts. */
export const POSITIONS = ["before", "after", "Extensions", "Object", "SubjectConfirmationData", "Advice"] as const;

export type Position = (typeof POSITIONS)[number];

/** A document with a valid signature and somebody else's name. */
export interface Wrapped {
	name: string;
	document: string;
}

/** The parts of an honest response, and the attacker's text. */
interface Parts {
	/** The signed assertion, with and without its signature. */
	assertion: string;
	bare: string;
	/** The whole honest response, signed as it is, and without its own signature. */
	response: string;
	unsigned: string;
	/** The signature that the attack moves: the response's, if it has one, else the assertion's. */
	signature: string;
	/** The attacker's assertion, unsigned, and its content. */
	evil: string;
	said: Said;
}

const EVIL: Partial<Said> = { name_id: "mallory", assertion_id: "_evil-assertion", response_id: "_evil-response" };

/**
 * The eight classic wrappings (https://www.usenix.org/conference/usenixsecurity12/technical-sessions/presentation/somorovsky), each with
 * every kind of signed response, and with every position for the wrapped element.
 */
export function wrappedDocuments(said: Said, key: SigningKey): Wrapped[] {
	const all: Wrapped[] = [];
	for (const signed of ["assertion", "response", "both"] as const) {
		const parts = partsOf(said, key, signed);
		for (const [at, wrap] of WRAPPINGS.entries()) {
			for (const position of POSITIONS) {
				all.push({ name: `XSW${at + 1}, ${signed} signed, ${position}`, document: wrap(parts, position) });
			}
		}
	}
	return all;
}

function partsOf(said: Said, key: SigningKey, signed: Signed): Parts {
	const bare = writeAssertion(said);
	const ofAssertion = writeSignature(bare, plainSigning(key));
	const assertion = signed === "response" ? bare : withSignature(bare, ofAssertion);
	const unsigned = writeResponse(said, assertion);
	const ofResponse = writeSignature(unsigned, plainSigning(key));
	const evil = { ...said, ...EVIL };
	return {
		assertion,
		bare,
		unsigned,
		response: signed === "assertion" ? unsigned : withSignature(unsigned, ofResponse),
		signature: signed === "assertion" ? ofAssertion : ofResponse,
		evil: writeAssertion(evil),
		said: evil,
	};
}

/** Inserts an element into a response, at a position relative to the assertion in the response. */
function put(response: string, element: string, position: Position): string {
	const start = response.indexOf("<saml:Assertion ");
	const end = response.lastIndexOf("</saml:Assertion>") + "</saml:Assertion>".length;
	const into = (mark: string, text: string) => {
		const position = response.indexOf(mark, mark.startsWith("</saml:Su") ? start : 0);
		if (position < 0) throw new Error(`the response has no ${mark}`);
		return response.slice(0, position) + text + response.slice(position);
	};
	switch (position) {
		case "before":
			return response.slice(0, start) + element + response.slice(start);
		case "after":
			return response.slice(0, end) + element + response.slice(end);
		case "Extensions":
			return into("<samlp:Status>", `<samlp:Extensions>${element}</samlp:Extensions>`);
		case "Object":
			if (response.includes("</ds:Signature>")) return into("</ds:Signature>", `<ds:Object>${element}</ds:Object>`);
			return into("<samlp:Status>", `<ds:Signature xmlns:ds="${DS}"><ds:Object>${element}</ds:Object></ds:Signature>`);
		case "SubjectConfirmationData":
			return into("</saml:SubjectConfirmationData>", element);
		case "Advice":
			return into("<saml:AuthnStatement ", `<saml:Advice>${element}</saml:Advice>`);
	}
}

type Wrapping = (parts: Parts, position: Position) => string;

const WRAPPINGS: readonly Wrapping[] = [
	// 1: the attacker's response has the signature, and contains the honest response.
	({ said, evil, signature, unsigned }, position) =>
		put(withSignature(writeResponse(said, evil), signature), unsigned, position),
	// 2: the attacker's response is unsigned, and contains the honest one with its signature.
	({ said, evil, response }, position) => put(writeResponse(said, evil), response, position),
	// 3: the attacker's assertion takes the place of the honest one, which lies elsewhere.
	({ response, evil, assertion }, position) => put(response.replace(assertion, evil), assertion, position),
	// 4: the attacker's assertion contains a copy of the honest one.
	({ response, evil, assertion }, position) =>
		put(response, evil.replace("<saml:Conditions ", `${assertion}<saml:Conditions `), position),
	// 5: the attacker's assertion has the signature, and the signed element lies elsewhere.
	({ said, evil, signature, bare }, position) =>
		put(writeResponse(said, withSignature(evil, signature)), bare, position),
	// 6: like 5, with the identifier of the honest one.
	({ said, evil, signature, bare }, position) => {
		const named = evil.replace("_evil-assertion", / ID="([^"]*)"/.exec(bare)?.[1] ?? "");
		return put(writeResponse(said, withSignature(named, signature)), bare, position);
	},
	// 7: the attacker's assertion comes with a copy of the signature.
	({ response, evil, signature }, position) => put(response, withSignature(evil, signature), position),
	// 8: the attacker's response wraps the signed assertion, with the signature between them.
	({ said, evil, signature, bare }, position) =>
		put(
			writeResponse(said, evil),
			signature.replace("</ds:Signature>", `<ds:Object>${bare}</ds:Object></ds:Signature>`),
			position,
		),
];
