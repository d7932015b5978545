/** Replacement for a value in the output of a program. The mask of a secret in a configuration is another, which the server knows. */
export const OUTPUT_MASK = "*****";

/** Bytes of the shortest masked text: shorter ones, such as `true` and `5432`, occur in most outputs by chance. */
const MIN_BYTES = 6;
/** Bytes of the shortest line of a multi-line value that is masked by itself. */
const MIN_LINE_BYTES = 12;

/** Masks a stream of bytes. It holds back no more than the beginning of a value. */
export interface Masker {
	/** Bytes to pass on now, with every value that ended in this chunk replaced. */
	push(chunk: Buffer): Buffer;
	/** Rest of the stream. */
	end(): Buffer;
}

/** Texts to look for, by their first four bytes; the longest of each first. */
interface Index {
	readonly texts: readonly Buffer[];
	readonly byHead: ReadonlyMap<number, readonly Buffer[]>;
	/** 1 where a text begins with these two bytes. */
	readonly pairs: Uint8Array;
}

/** Result of a search at one place of the output. */
interface Found {
	/** Bytes of the longest text found there as a whole; 0 when there is none. */
	readonly length: number;
	/** True when a longer one may be there, as far as the output goes. */
	readonly isOpen: boolean;
}

/**
 * A masker for one stream. It covers overlapping values as a whole. Nothing is released by time: a value that arrives in pieces,
 * however slowly, is masked, and only text that begins like a value ever waits.
 * @param values of secrets; each is also looked for in the forms of `formsOf`
 */
export function createMasker(values: readonly string[]): Masker {
	const index = indexOf(values);
	let held: Buffer = Buffer.alloc(0);
	/** Bytes at the beginning of `held` that belong to a value whose mask is already out. */
	let covered = 0;
	const take = (chunk: Buffer, isEnd: boolean): Buffer => {
		const data = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
		const out: Buffer[] = [];
		let plainFrom = covered;
		let at = nextHead(index, data, 0);
		for (; at < data.length; at = nextHead(index, data, at + 1)) {
			const { length, isOpen } = find(index, data, at);
			if (isOpen && !isEnd) break;
			if (length === 0) continue;
			if (at >= plainFrom) out.push(data.subarray(plainFrom, at), Buffer.from(OUTPUT_MASK));
			plainFrom = Math.max(plainFrom, at + length);
		}
		if (plainFrom < at) out.push(data.subarray(plainFrom, at));
		held = data.subarray(at);
		covered = Math.max(0, plainFrom - at);
		return Buffer.concat(out);
	};
	return { push: (chunk) => take(chunk, false), end: () => take(Buffer.alloc(0), true) };
}

/** Tells whether any part of the values would be masked. */
export function canMask(values: readonly string[]): boolean {
	return values.some((value) => formsOf(value).length > 0);
}

/** The next place where a text may begin; the end of the data when there is none. */
function nextHead({ pairs }: Index, data: Buffer, from: number): number {
	const last = data.length - 1;
	let at = from;
	while (at < last && pairs[((data[at] ?? 0) << 8) | (data[at + 1] ?? 0)] === 0) at++;
	return Math.min(at, data.length);
}

function find({ texts, byHead }: Index, data: Buffer, at: number): Found {
	const left = data.length - at;
	const candidates = left < 4 ? texts : (byHead.get(data.readUInt32BE(at)) ?? []);
	let isOpen = false;
	for (const text of candidates) {
		const there = Math.min(text.length, left);
		if (data.compare(text, 0, there, at, at + there) !== 0) continue;
		if (there === text.length) return { length: text.length, isOpen };
		isOpen = true;
	}
	return { length: 0, isOpen };
}

function indexOf(values: readonly string[]): Index {
	const forms = [...new Set(values.flatMap(formsOf))].map((form) => Buffer.from(form));
	const texts = forms.toSorted((a, b) => b.length - a.length);
	const pairs = new Uint8Array(0x10000);
	for (const text of texts) pairs[text.readUInt16BE(0)] = 1;
	return { texts, byHead: Map.groupBy(texts, (text) => text.readUInt32BE(0)), pairs };
}

/**
 * The texts that reveal a value: itself, its longer lines, and its forms in JSON, in an address and in Base64, at any place of a
 * longer text. Blanks around it do not count, so that no line break waits for what follows it. Empty when the value is too short.
 */
export function formsOf(value: string): string[] {
	const text = value.trim();
	if (Buffer.byteLength(text) < MIN_BYTES) return [];
	const lines = text.includes("\n") ? text.split("\n").map((line) => line.trim()) : [];
	return [
		text,
		...lines.filter((line) => Buffer.byteLength(line) >= MIN_LINE_BYTES),
		JSON.stringify(text).slice(1, -1),
		encodeURIComponent(text.toWellFormed()),
		new URLSearchParams([["", text]]).toString().slice(1),
		...base64Forms(Buffer.from(text)),
	];
}

/** The part of its Base64 that does not depend on the text around it, for each of its three possible offsets, in both alphabets. */
function base64Forms(text: Buffer): string[] {
	return [0, 1, 2].flatMap((before) => {
		const encoded = Buffer.concat([Buffer.alloc(before), text]).toString("base64");
		const whole = encoded.slice(before === 0 ? 0 : before + 1, Math.floor(((text.length + before) * 8) / 6));
		return [whole, whole.replaceAll("+", "-").replaceAll("/", "_")];
	});
}
