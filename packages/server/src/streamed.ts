/** Characters per piece of an answer. */
export const PIECE_CHARS = 64 * 1024;

/** Characters of a text escaped at once: each control character becomes six. */
const SLICE_CHARS = 16 * 1024;

/** An answer that may be large: made piece by piece, while it is sent. Its event is written first. Design: §13 */
export class Streamed {
	/** Runs once, and ends early when nobody wants the rest. A piece may be empty. An error midway cuts the connection. */
	readonly pieces: AsyncGenerator<string | Uint8Array>;
	/** Bytes held until the end, besides the piece being sent. */
	readonly held: number;

	constructor(pieces: AsyncGenerator<string | Uint8Array>, held = 0) {
		this.pieces = pieces;
		this.held = held;
	}
}

/** A list or map to be streamed. */
interface Items<Item> {
	/** JSON before the first item, and after the last. */
	before: string;
	after: string;
	/** A few at a time. */
	groups: AsyncIterable<readonly Item[]>;
	/** An item as JSON, in parts. */
	write(item: Item): Iterable<string>;
	held?: number;
}

/** Streams a list or map as JSON. */
export function streamItems<Item>(items: Items<Item>): Streamed {
	return new Streamed(piecesOf(items), items.held);
}

async function* piecesOf<Item>({ before, after, groups, write }: Items<Item>): AsyncGenerator<string> {
	let text = before;
	let separator = "";
	for await (const group of groups) {
		for (const item of group) {
			text += separator;
			separator = ",";
			for (const part of write(item)) {
				text += part;
				if (text.length < PIECE_CHARS) continue;
				yield text;
				text = "";
			}
		}
		// Others get their turn here, too: making a group is work, however short its text.
		yield "";
	}
	yield text + after;
}

/** Writes a flat object as JSON.stringify does, long texts in slices. */
export function* jsonObject(object: object): Generator<string> {
	let separator = "{";
	for (const [name, value] of Object.entries(object)) {
		if (value === undefined) continue;
		yield `${separator}${JSON.stringify(name)}:`;
		separator = ",";
		if (typeof value === "string") yield* jsonText(value);
		else yield JSON.stringify(value);
	}
	yield separator === "{" ? "{}" : "}";
}

/** Writes a member of a map of texts. */
export function* jsonMember([name, text]: readonly [string, string]): Generator<string> {
	yield `${JSON.stringify(name)}:`;
	yield* jsonText(text);
}

/** Writes a text as JSON.stringify does, in slices. */
export function* jsonText(text: string): Generator<string> {
	if (text.length <= SLICE_CHARS) return yield JSON.stringify(text);
	yield '"';
	for (let start = 0, end = 0; start < text.length; start = end) {
		end = start + SLICE_CHARS;
		// Half of a surrogate pair would be escaped.
		if (isHighSurrogate(text.charCodeAt(end - 1))) end--;
		yield JSON.stringify(text.slice(start, end)).slice(1, -1);
	}
	yield '"';
}

function isHighSurrogate(unit: number): boolean {
	return unit >= 0xd800 && unit <= 0xdbff;
}
