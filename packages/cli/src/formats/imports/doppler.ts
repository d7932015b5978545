import { addProblem, type Draft, type ImportResult, startFrom } from "./import-result.ts";
import { addField, type Field, fieldNamed, type Tree } from "./tree.ts";

/** Names that `doppler secrets download` adds to the secrets, with the reason to leave each out. */
const OWN: Readonly<Record<string, string>> = {
	DOPPLER_PROJECT: "is the name of Doppler's project: --realm says where it goes here",
	DOPPLER_CONFIG: "is the name of Doppler's config: --env says where it goes here",
	DOPPLER_ENVIRONMENT: "is the name of Doppler's environment: --env says where it goes here",
};

/** Reads what `doppler secrets download --format json` prints, an object of texts, and the objects of `doppler secrets --json`. */
export function readDoppler(draft: Draft, tree: Tree): void {
	if (tree.kind !== "map") addProblem(draft, tree.line, "expected an object, as doppler secrets download prints it");
	else for (const field of tree.fields) addField(draft, { ...field, value: computed(field) }, field.key);
}

function computed({ value }: Field): Tree {
	return fieldNamed(value, "computed") ?? value;
}

/** Leaves out what names a project, config and environment of Doppler. */
export function withoutNames(result: ImportResult): ImportResult {
	const kept = startFrom(result);
	for (const entry of result.entries) {
		const reason = Object.hasOwn(OWN, entry.key) ? OWN[entry.key] : undefined;
		if (reason === undefined) kept.entries.push(entry);
		else kept.skipped.push({ key: entry.key, line: entry.line, reason });
	}
	return kept;
}
