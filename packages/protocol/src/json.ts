/** Levels of nesting, and members and elements in all, that a text may have. */
const MAX_DEPTH = 32;
const MAX_MEMBERS = 10_000;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A text that is refused. The message is a predicate (`is not valid JSON`) and never quotes the text. */
export class JsonError extends Error {
	override readonly name = "JsonError";
}

/**
 * Parses a JSON text more strictly than JSON.parse: valid UTF-8, no repeated member names, bounded depth and width.
 * @throws JsonError
 */
export function parseJson(bytes: Uint8Array): unknown {
	const text = decode(bytes);
	refuseExcess(text);
	try {
		return JSON.parse(text);
	} catch {
		throw new JsonError("is not valid JSON");
	}
}

function decode(bytes: Uint8Array): string {
	try {
		return utf8.decode(bytes);
	} catch {
		throw new JsonError("is not valid UTF-8");
	}
}

/**
 * Walks the text once, before it is parsed, looking at brackets and strings only. What it cannot make sense of is left for the parser
 * to refuse; what the parser would accept silently, it refuses.
 */
function refuseExcess(text: string): void {
	const names: (Set<string> | undefined)[] = [];
	let members = 0;
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at);
		if (code === QUOTE) {
			const end = endOfString(text, at);
			const scope = names.at(-1);
			COLON.lastIndex = end + 1;
			if (scope !== undefined && COLON.test(text)) addName(scope, text.slice(at, end + 1));
			at = end;
		} else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
			names.push(code === OPEN_OBJECT ? new Set() : undefined);
			if (names.length > MAX_DEPTH) throw new JsonError(`is nested deeper than ${MAX_DEPTH} levels`);
		} else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) names.pop();
		else if (code === COMMA && ++members > MAX_MEMBERS) {
			throw new JsonError(`has more than ${MAX_MEMBERS} members`);
		}
	}
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COLON = /[ \t\r\n]*:/y;

/** Index of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
	for (let at = start + 1; ; at++) {
		at = text.indexOf('"', at);
		if (at === -1) return text.length;
		let backslashes = 0;
		while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
		if (backslashes % 2 === 0) return at;
	}
}

function addName(scope: Set<string>, quoted: string): void {
	const name = quoted.includes("\\") ? unescapeName(quoted) : quoted;
	if (scope.has(name)) throw new JsonError("has a member name twice in one object");
	scope.add(name);
}

/** Two spellings of one name are one name. */
function unescapeName(quoted: string): string {
	try {
		return JSON.stringify(JSON.parse(quoted));
	} catch {
		return quoted;
	}
}
