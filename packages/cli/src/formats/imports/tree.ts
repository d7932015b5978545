import type { LineCounter, Node, Pair } from "yaml";
import { addProblem, type Draft } from "./import-result.ts";

/** A value of a JSON or YAML document. */
export type Tree = { readonly line: number } & (
	| { readonly kind: "text"; readonly text: string }
	| { readonly kind: "map"; readonly fields: readonly Field[] }
	| { readonly kind: "list"; readonly items: readonly Tree[] }
	/** A null, also one that is not written. */
	| { readonly kind: "nothing" }
	/** An alias, a tag or the like: YAML that has no equal in JSON. */
	| { readonly kind: "other" }
);

/** A map as a Tree. */
export type TreeMap = Extract<Tree, { kind: "map" }>;

/** A key with its value. */
export interface Field {
	readonly key: string;
	readonly line: number;
	readonly value: Tree;
}

type Yaml = typeof import("yaml");

/**
 * Reads JSON or YAML. A number, true and false become the text as it is written: `007` and `1.50` stay what they are.
 * @param draft receives the mistakes
 */
export async function readTree(text: string, draft: Draft): Promise<Tree | undefined> {
	const yaml = await import("yaml");
	const lines = new yaml.LineCounter();
	// Keys that occur twice are reported with everything else, and by the line of the first one.
	const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
	const wrong = new Map(document.errors.map(({ pos, code }) => [lineAt(lines, pos[0]), code]));
	for (const [line, code] of wrong)
		addProblem(
			draft,
			line,
			code === "MULTIPLE_DOCS"
				? "a second document begins here: import each from a file of its own"
				: "is not JSON or YAML",
		);
	return wrong.size > 0 ? undefined : convert(yaml, lines, draft, document.contents);
}

function lineAt(lines: LineCounter, offset: number | undefined): number {
	return Math.max(1, lines.linePos(offset ?? 0).line);
}

function convert(yaml: Yaml, lines: LineCounter, draft: Draft, node: unknown, near = 1): Tree {
	const range = (node as Node | null)?.range;
	const line = range ? lineAt(lines, range[0]) : near;
	if (node === null || node === undefined) return { kind: "nothing", line };
	if (yaml.isSeq(node))
		return { kind: "list", line, items: node.items.map((item) => convert(yaml, lines, draft, item, line)) };
	if (yaml.isMap(node))
		return { kind: "map", line, fields: node.items.flatMap((pair) => fieldOf(yaml, lines, draft, pair, line)) };
	if (!yaml.isScalar(node) || node.tag !== undefined) return { kind: "other", line };
	if (node.value === null) return { kind: "nothing", line };
	return { kind: "text", line, text: typeof node.value === "string" ? node.value : (node.source ?? "") };
}

function fieldOf(yaml: Yaml, lines: LineCounter, draft: Draft, { key, value }: Pair, near: number): Field[] {
	const line = yaml.isScalar(key) ? lineAt(lines, key.range?.[0]) : near;
	if (yaml.isScalar(key) && typeof key.value === "string")
		return [{ key: key.value, line, value: convert(yaml, lines, draft, value, line) }];
	addProblem(draft, line, "a key is not a text");
	return [];
}

/** The value of a field; undefined when the tree is no map or has no such field. */
export function fieldNamed(tree: Tree | undefined, name: string): Tree | undefined {
	return tree?.kind === "map" ? tree.fields.findLast(({ key }) => key === name)?.value : undefined;
}

/** The text of a field; undefined when there is none. */
export function textNamed(tree: Tree | undefined, name: string): string | undefined {
	const value = fieldNamed(tree, name);
	return value?.kind === "text" ? value.text : undefined;
}

/** Adds a field as an entry, or as a problem when its value is not a text. */
export function addField(draft: Draft, { line, value }: Field, key: string): void {
	if (value.kind === "text") draft.entries.push({ key, value: value.text, line });
	else addProblem(draft, line, `the value is ${KINDS[value.kind]}, not a text`, key);
}

const KINDS = { map: "an object", list: "a list", nothing: "null", other: "an alias or has a tag" } as const;
