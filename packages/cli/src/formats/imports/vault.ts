import { addProblem, type Draft } from "./import-result.ts";
import { addField, fieldNamed, type Tree, type TreeMap, textNamed } from "./tree.ts";

/**
 * Reads what `vault kv get -format=json` or `bao kv get` prints, of both versions of the KV engine, and trees of secrets: objects whose
 * leaves are texts or such answers, as `medusa export` and a few lines of jq make them. The path to a secret begins its keys.
 * @param path of the secret, with a slash at its end; empty for the whole file
 */
export function readVault(draft: Draft, tree: Tree, path = ""): void {
	if (tree.kind !== "map") {
		addProblem(draft, tree.line, "expected an answer of vault kv get, or a tree of secrets");
		return;
	}
	const secret = versionOf(tree) ?? (isAnswer(tree) ? (versionOf(fieldNamed(tree, "data")) ?? first(tree)) : undefined);
	if (secret === undefined) readFolder(draft, tree, path);
	else if (secret.state !== undefined)
		draft.skipped.push({ key: path.replace(/\/$/, ""), line: tree.line, reason: `is ${secret.state} in Vault` });
	else if (secret.data?.kind === "map")
		for (const field of secret.data.fields) addField(draft, field, path + field.key);
	else addProblem(draft, tree.line, "expected the data of a secret to be an object");
}

/** A secret as an answer holds it. */
interface VaultSecret {
	readonly data: Tree | undefined;
	/** Set when it is there no more. */
	readonly state?: "deleted" | "destroyed";
}

function readFolder(draft: Draft, folder: TreeMap, path: string): void {
	for (const field of folder.fields) {
		// A path that begins or ends with a slash, as lists of Vault give it.
		const name = field.key.replace(/^\/+|\/+$/g, "");
		if (field.value.kind === "map") readVault(draft, field.value, name === "" ? path : `${path}${name}/`);
		else addField(draft, field, path + field.key);
	}
}

function isAnswer(tree: TreeMap): boolean {
	return fieldNamed(tree, "lease_duration") !== undefined && fieldNamed(tree, "data") !== undefined;
}

/** Version 1 of the engine. */
function first(tree: TreeMap): VaultSecret {
	return { data: fieldNamed(tree, "data") };
}

/** Version 2: a `data` next to a `metadata` with a version, which a secret of version 1 with keys of these names has not. */
function versionOf(tree: Tree | undefined): VaultSecret | undefined {
	const metadata = fieldNamed(tree, "metadata");
	if (textNamed(metadata, "version") === undefined || textNamed(metadata, "created_time") === undefined)
		return undefined;
	const data = fieldNamed(tree, "data");
	if (textNamed(metadata, "destroyed") === "true") return { data, state: "destroyed" };
	return data?.kind === "nothing" ? { data, state: "deleted" } : { data };
}
