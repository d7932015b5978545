import { isUtf8 } from "node:buffer";
import { type DotenvEntry, DotenvError } from "./dotenv.ts";

/**
 * Reads the entries of a JSON object or YAML mapping of texts, or of a Kubernetes Secret, in their order.
 * @throws DotenvError on anything else, and on a repeated key; the message names the line and none of its content
 */
export async function parseMapping(text: string): Promise<DotenvEntry[]> {
	const { isMap, isScalar, LineCounter, parseDocument } = await import("yaml");
	const lines = new LineCounter();
	const { contents, errors } = parseDocument(text, { lineCounter: lines, prettyErrors: false });
	const lineOf = (offset: number | undefined) => Math.max(1, lines.linePos(offset ?? 0).line);
	const [error] = errors;
	if (error !== undefined)
		throw new DotenvError(
			lineOf(error.pos[0]),
			error.code === "DUPLICATE_KEY" ? "a key occurs twice" : "is not JSON or YAML",
		);
	const fail = (node: unknown, problem: string): never => {
		throw new DotenvError(lineOf((node as { range?: [number] } | null)?.range?.[0]), problem);
	};
	const decode = (value: string, key: unknown): string => {
		const bytes = bytesOf(value);
		if (bytes === undefined) return fail(key, "the value is not Base64, as it is below data");
		// Otherwise U+FFFD would silently replace what is not text.
		return isUtf8(bytes)
			? bytes.toString()
			: fail(key, "the value is not UTF-8 text, and the service keeps nothing else");
	};
	const entriesOf = (node: unknown, read: (value: string, key: unknown) => string): DotenvEntry[] => {
		if (!isMap(node)) return fail(node, "expected a mapping of keys to texts");
		return node.items.map(({ key, value }) => {
			if (!isScalar(key) || typeof key.value !== "string") return fail(key, "a key is not a text");
			if (!isScalar(value) || typeof value.value !== "string")
				return fail(key, "the value is not a text: numbers and the like need quotes");
			return { key: key.value, value: read(value.value, key), line: lineOf(key.range?.[0]) };
		});
	};
	if (!isMap(contents) || (contents.get("kind") as unknown) !== "Secret") return entriesOf(contents, (value) => value);
	return [
		...(contents.has("data") ? entriesOf(contents.get("data", true), decode) : []),
		...(contents.has("stringData") ? entriesOf(contents.get("stringData", true), (value) => value) : []),
	];
}

/** Bytes of a Base64 text; undefined when it is none. Kubernetes, too, accepts line breaks in it. */
function bytesOf(value: string): Buffer | undefined {
	const digits = value.replace(/[\r\n]/g, "");
	const isBase64 = digits.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(digits);
	return isBase64 ? Buffer.from(digits, "base64") : undefined;
}
