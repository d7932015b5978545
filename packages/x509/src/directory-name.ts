import { type Element, readElements, readItems, required } from "./der-reader.ts";

/** One attribute of a distinguished name. */
export interface Attribute {
	/** The encoded identifier. */
	type: Buffer;
	/** As written; a value that is no text, as hexadecimal. */
	text: string;
}

type Decode = (content: Buffer) => string;

const utf8: Decode = (content) => content.toString("utf8");
/** The string types that a distinguished name may use, by tag. */
const STRINGS: Readonly<Record<number, Decode>> = {
	12: utf8,
	18: utf8,
	19: utf8,
	20: (content) => content.toString("latin1"),
	22: utf8,
	26: utf8,
	30: (content) => Buffer.from(content).swap16().toString("utf16le"),
};

/**
 * Reads a distinguished name: its sets of attributes, nearly always one each, from the outermost to the innermost.
 * @param der the SEQUENCE
 * @throws Error when it is not DER, or ends too soon
 */
export function readDirectoryName(der: Buffer): Attribute[][] {
	return readItems(der).map((set) => readElements(set.content).map(readAttribute));
}

function readAttribute(element: Element): Attribute {
	const [type, value] = readElements(element.content);
	const { tag, content, bytes } = required(value);
	return { type: required(type).bytes, text: STRINGS[tag]?.(content) ?? bytes.toString("hex") };
}
