import { SsoRefusal } from "../model.ts";

/** Far above what providers send: 2,000 groups fit. Each element adds 0.1 ms to the reading time. */
const MAX_ELEMENTS = 2048;
const MAX_DEPTH = 16;
const MAX_ATTRIBUTES = 32;

const DECLARATION =
	/^<\?xml version=(["'])1\.0\1(?: encoding=(["'])utf-8\2)?(?: standalone=(["'])(?:yes|no)\3)?[ \t\r\n]*\?>[ \t\r\n]*/i;
const TEXT = /[^<]*/y;
const TAG = /<(\/?)[A-Za-z_][\w.:-]*/y;
const ATTRIBUTE = /[ \t\r\n]+[A-Za-z_][\w.:-]*[ \t\r\n]*=[ \t\r\n]*(?:"[^"<]*"|'[^'<]*')/y;
const TAG_END = /[ \t\r\n]*(\/?)>/y;

const malformed = () => new SsoRefusal("malformed");

/**
 * Decodes the XML in a form's field. It may contain only elements, attributes and text: no comment, processing instruction,
 * CDATA section, document type or entity that two readers might understand differently.
 * @throws SsoRefusal malformed
 * Design: §11 (the gate on the raw text)
 */
export function decodeStrictXml(field: string): string {
	const text = decodeUtf8(decodeBase64(field)).replace(DECLARATION, "");
	checkCharacters(text);
	checkTags(text);
	return text;
}

/** Decodes the canonical form only: blanks, another alphabet, or bits after the last byte would give a document several texts. */
function decodeBase64(field: string): Buffer {
	const bytes = Buffer.from(field, "base64");
	if (bytes.toString("base64") !== field) throw malformed();
	return bytes;
}

/** Decodes UTF-8. A byte order mark stays, and is later refused because it is no element. */
function decodeUtf8(bytes: Buffer): string {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch (cause) {
		throw new SsoRefusal("malformed", { cause });
	}
}

function checkCharacters(text: string): void {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no such characters
	if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text)) throw malformed();
	if (/&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-fA-F]{1,6});)/.test(text)) throw malformed();
	for (const [, hex, digits = ""] of text.matchAll(/&#(x?)([\da-fA-F]+);/g)) {
		if (!isCharacter(Number.parseInt(digits, hex === "x" ? 16 : 10))) throw malformed();
	}
}

/** Tells whether XML has a character of this number. */
function isCharacter(code: number): boolean {
	if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd;
	return code < 0xd800 || (code > 0xdfff && code < 0xfffe) || (code > 0xffff && code < 0x110000);
}

/** Checks every tag: one root, no text around it, and no more than the limits. */
function checkTags(text: string): void {
	let position = 0;
	let elements = 0;
	let depth = 0;
	const take = (pattern: RegExp): RegExpExecArray | null => {
		pattern.lastIndex = position;
		const match = pattern.exec(text);
		if (match !== null) position = pattern.lastIndex;
		return match;
	};
	const require = (pattern: RegExp) => {
		const match = take(pattern);
		if (match === null) throw malformed();
		return match;
	};
	while (position < text.length) {
		const isEnd = require(TAG)[1] === "/";
		let attributes = 0;
		while (!isEnd && take(ATTRIBUTE) !== null) attributes++;
		const isEmpty = require(TAG_END)[1] === "/";
		if (!isEnd) elements++;
		if (isEnd) depth--;
		else if (!isEmpty) depth++;
		if (elements > MAX_ELEMENTS || attributes > MAX_ATTRIBUTES || depth < 0 || depth > MAX_DEPTH) throw malformed();
		const between = require(TEXT)[0];
		if (depth === 0 && (position < text.length || between.trim() !== "")) throw malformed();
	}
	if (depth !== 0 || elements === 0) throw malformed();
}
