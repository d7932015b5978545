import { addProblem, type Draft } from "./import-result.ts";
import { addField, fieldNamed, type Tree, type TreeMap, textNamed } from "./tree.ts";

/**
 * Reads what `infisical export --format=json` prints: a list of secrets. The folder of a secret begins its key. Of a personal value next to
 * the shared one, the shared one is read; one without it is a mistake.
 */
export function readInfisical(draft: Draft, tree: Tree): void {
	if (tree.kind === "map") {
		for (const field of tree.fields) addField(draft, field, field.key);
	} else if (tree.kind === "list") {
		const shared = new Set(tree.items.filter((item) => !isPersonal(item)).map(keyOf));
		for (const item of tree.items) readSecret(draft, item, shared);
	} else addProblem(draft, tree.line, "expected a list of secrets, as infisical export prints it");
}

function readSecret(draft: Draft, item: Tree, shared: ReadonlySet<string | undefined>): void {
	const { line } = item;
	const key = keyOf(item);
	if (item.kind !== "map" || key === undefined) addProblem(draft, line, "expected a secret with key and value");
	else if (!isPersonal(item)) addValue(draft, item, key);
	else if (shared.has(key))
		draft.skipped.push({ key, line, reason: "is one person's value, in addition to the shared one" });
	else
		addProblem(
			draft,
			line,
			"is the value of one person, not the shared one: export with --secret-overriding=false",
			key,
		);
}

function addValue(draft: Draft, item: TreeMap, key: string): void {
	const value = fieldNamed(item, "value") ?? { kind: "nothing", line: item.line };
	addField(draft, { key, line: item.line, value }, key);
}

function isPersonal(item: Tree): boolean {
	return textNamed(item, "type") === "personal";
}

function keyOf(item: Tree): string | undefined {
	const key = textNamed(item, "key");
	const folder = (textNamed(item, "secretPath") ?? "/").replace(/^\/+|\/+$/g, "");
	return key === undefined || folder === "" ? key : `${folder}/${key}`;
}

const START = /(?:export )?([^\s='"]+)='/y;
const END = /'\n(?=(?:export )?[^\s='"]+=')|'\n?$/g;

/**
 * Reads the .env file of `infisical export`, which puts every value between single quotes as it is: a value ends at the quote before the
 * next key or the end of the file.
 */
export function readInfisicalDotenv(draft: Draft, text: string): void {
	let line = 1;
	for (let at = 0; at < text.length; ) {
		START.lastIndex = at;
		const [start, key] = START.exec(text) ?? [];
		END.lastIndex = at + (start?.length ?? 0);
		const end = start === undefined ? null : END.exec(text);
		if (start === undefined || key === undefined || end === null) {
			addProblem(draft, line, "expected KEY='value', as infisical export writes it");
			return;
		}
		draft.entries.push({ key, value: text.slice(at + start.length, end.index), line });
		const next = end.index + end[0].length;
		line += text.slice(at, next).split("\n").length - 1;
		at = next;
	}
}
