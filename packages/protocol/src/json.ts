/** Levels of nesting in a text; names, commas between members or elements, and lists and objects, each counted separately over the whole text. */
const MAX_DEPTH = 32;
const MAX_MEMBERS = 10_000;
/** Brackets, strings and other characters of one step: 5 ms at most, if each is a name. */
const STEP = 4096;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A refused text. The message is a predicate (`is not valid JSON`) and never quotes the text. */
export class JsonError extends Error {
	override readonly name = "JsonError";
}

/**
 * Parses a JSON text more strictly than JSON.parse: valid UTF-8, no repeated member names, bounded depth and width.
 * @throws JsonError
 */
export function parseJson(bytes: Uint8Array): unknown {
	const steps = parseJsonInSteps(bytes);
	for (;;) {
		const { done, value } = steps.next();
		if (done) return value;
	}
}

/**
 * Does the same in steps of a few milliseconds, so that other work can run meanwhile. Returns the parsed value.
 * @throws JsonError
 */
export function* parseJsonInSteps(bytes: Uint8Array): Generator<void, unknown> {
	const text = decode(bytes);
	yield* refuseExcess(text);
	yield;
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
 * Walks the text once before the parser does, looking at brackets and strings only. It refuses what the parser would accept silently, and leaves
 * the rest to the parser. It counts everything that it keeps or unescapes, so that an invalid text costs no more than a valid one.
 */
function* refuseExcess(text: string): Generator<void, void> {
	const names: (Set<string> | undefined)[] = [];
	let commas = 0;
	let named = 0;
	let opened = 0;
	let left = STEP;
	// A string in an object is a name if a colon follows, after any blanks.
	let name = "";
	for (let at = 0; at < text.length; at++) {
		if (--left === 0) {
			left = STEP;
			yield;
		}
		const code = text.charCodeAt(at);
		if (name !== "" && !isBlank(code)) {
			if (code === COLON && ++named > MAX_MEMBERS) throw tooWide("members");
			if (code === COLON) addName(names.at(-1), name);
			name = "";
		}
		if (code === QUOTE) {
			const end = endOfString(text, at);
			if (names.at(-1) !== undefined) name = text.slice(at, end + 1);
			at = end;
		} else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
			names.push(code === OPEN_OBJECT ? new Set() : undefined);
			if (names.length > MAX_DEPTH) throw new JsonError(`is nested deeper than ${MAX_DEPTH} levels`);
			if (++opened > MAX_MEMBERS) throw tooWide("lists and objects");
		} else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) names.pop();
		else if (code === COMMA && ++commas > MAX_MEMBERS) throw tooWide("members");
	}
}

function tooWide(what: string): JsonError {
	return new JsonError(`has more than ${MAX_MEMBERS} ${what}`);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COLON = 0x3a;

/** Compares one by one: looked up in a list, a megabyte of blanks takes 30 ms. */
function isBlank(code: number): boolean {
	return code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a;
}

/** Finds the index of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
	for (let at = start + 1; ; at++) {
		at = text.indexOf('"', at);
		if (at === -1) return text.length;
		let backslashes = 0;
		while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
		if (backslashes % 2 === 0) return at;
	}
}

function addName(scope: Set<string> | undefined, quoted: string): void {
	const name = quoted.includes("\\") ? unescapeName(quoted) : quoted;
	if (scope?.has(name)) throw new JsonError("has a member name twice in one object");
	scope?.add(name);
}

/** Unescapes a name, so that two spellings are one name. An invalid one ends the walk: catching each took 9 µs. */
function unescapeName(quoted: string): string {
	try {
		return JSON.stringify(JSON.parse(quoted));
	} catch {
		throw new JsonError("is not valid JSON");
	}
}
