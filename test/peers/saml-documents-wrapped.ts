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
export const PLACES = ["before", "after", "Extensions", "Object", "SubjectConfirmationData", "Advice"] as const;

export type Place = (typeof PLACES)[number];

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
 * every kind of signed response, and with every place for the wrapped element.
 */
export function wrappedDocuments(said: Said, key: SigningKey): Wrapped[] {
	const all: Wrapped[] = [];
	for (const signed of ["assertion", "response", "both"] as const) {
		const parts = partsOf(said, key, signed);
		for (const [at, wrap] of WRAPPINGS.entries()) {
			for (const place of PLACES) {
				all.push({ name: `XSW${at + 1}, ${signed} signed, ${place}`, document: wrap(parts, place) });
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

/** Inserts an element into a response, at a place relative to the assertion in the response. */
function put(response: string, element: string, place: Place): string {
	const start = response.indexOf("<saml:Assertion ");
	const end = response.lastIndexOf("</saml:Assertion>") + "</saml:Assertion>".length;
	const into = (mark: string, text: string) => {
		const position = response.indexOf(mark, mark.startsWith("</saml:Su") ? start : 0);
		if (position < 0) throw new Error(`the response has no ${mark}`);
		return response.slice(0, position) + text + response.slice(position);
	};
	switch (place) {
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

type Wrapping = (parts: Parts, place: Place) => string;

const WRAPPINGS: readonly Wrapping[] = [
	// 1: the attacker's response has the signature, and contains the honest response.
	({ said, evil, signature, unsigned }, place) =>
		put(withSignature(writeResponse(said, evil), signature), unsigned, place),
	// 2: the attacker's response is unsigned, and contains the honest one with its signature.
	({ said, evil, response }, place) => put(writeResponse(said, evil), response, place),
	// 3: the attacker's assertion takes the place of the honest one, which lies elsewhere.
	({ response, evil, assertion }, place) => put(response.replace(assertion, evil), assertion, place),
	// 4: the attacker's assertion contains a copy of the honest one.
	({ response, evil, assertion }, place) =>
		put(response, evil.replace("<saml:Conditions ", `${assertion}<saml:Conditions `), place),
	// 5: the attacker's assertion has the signature, and the signed element lies elsewhere.
	({ said, evil, signature, bare }, place) => put(writeResponse(said, withSignature(evil, signature)), bare, place),
	// 6: like 5, with the identifier of the honest one.
	({ said, evil, signature, bare }, place) => {
		const named = evil.replace("_evil-assertion", / ID="([^"]*)"/.exec(bare)?.[1] ?? "");
		return put(writeResponse(said, withSignature(named, signature)), bare, place);
	},
	// 7: the attacker's assertion comes with a copy of the signature.
	({ response, evil, signature }, place) => put(response, withSignature(evil, signature), place),
	// 8: the attacker's response wraps the signed assertion, with the signature between them.
	({ said, evil, signature, bare }, place) =>
		put(
			writeResponse(said, evil),
			signature.replace("</ds:Signature>", `<ds:Object>${bare}</ds:Object></ds:Signature>`),
			place,
		),
];
