import { isUtf8 } from "node:buffer";
import { addProblem, type Draft } from "./import-result.ts";
import { addField, type Field, fieldNamed, type Tree, textNamed } from "./tree.ts";

/** Reads an object of texts, a Secret of Kubernetes, or a list of those. */
export function readMapping(draft: Draft, tree: Tree): void {
	const items = fieldNamed(tree, "items");
	const kind = textNamed(tree, "kind");
	if (tree.kind !== "map") addProblem(draft, tree.line, "expected a mapping of keys to texts");
	else if (kind === "Secret") readSecret(draft, tree);
	else if (kind === "List" && items?.kind === "list") readSecrets(draft, items.items);
	else for (const field of tree.fields) addField(draft, field, field.key);
}

function readSecrets(draft: Draft, items: readonly Tree[]): void {
	for (const item of items) {
		if (textNamed(item, "kind") === "Secret") readSecret(draft, item);
		else addProblem(draft, item.line, "expected a Secret");
	}
}

/** Of a key in both, `stringData` wins, as in Kubernetes. */
function readSecret(draft: Draft, secret: Tree): void {
	const [data, plain] = [fieldsOf(draft, secret, "data"), fieldsOf(draft, secret, "stringData")];
	for (const field of data) {
		const other = plain.find(({ key }) => key === field.key);
		if (other === undefined) addDecoded(draft, field);
		else
			draft.skipped.push({
				key: field.key,
				line: field.line,
				reason: `stands in stringData, too, on line ${other.line}, which Kubernetes takes`,
			});
	}
	for (const field of plain) addField(draft, field, field.key);
}

function fieldsOf(draft: Draft, secret: Tree, name: string): readonly Field[] {
	const fields = fieldNamed(secret, name);
	if (fields === undefined || fields.kind === "nothing") return [];
	if (fields.kind === "map") return fields.fields;
	addProblem(draft, fields.line, "expected a mapping of keys to texts");
	return [];
}

function addDecoded(draft: Draft, field: Field): void {
	const { key, line, value } = field;
	const bytes = value.kind === "text" ? bytesOf(value.text) : undefined;
	if (value.kind !== "text") addField(draft, field, key);
	else if (bytes === undefined) addProblem(draft, line, "the value is not Base64, as it is below data", key);
	// Otherwise U+FFFD would silently replace what is not text.
	else if (isUtf8(bytes)) draft.entries.push({ key, value: bytes.toString(), line });
	else addProblem(draft, line, "the value is not UTF-8 text: move it to stringData, which keeps its Base64", key);
}

/** Bytes of a Base64 text; undefined when it is none. Kubernetes, too, accepts line breaks in it. */
function bytesOf(value: string): Buffer | undefined {
	const digits = value.replace(/[\r\n]/g, "");
	const isBase64 = digits.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(digits);
	return isBase64 ? Buffer.from(digits, "base64") : undefined;
}
