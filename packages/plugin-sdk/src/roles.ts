import { EngineError } from "./engine.ts";

/** Characters of an unknown role's name that are shown. */
const MAX_SHOWN_CHARACTERS = 64;

/** What a terminal obeys or a reader does not see. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * The role of that name, out of plugin.json's `default_roles`.
 * @throws EngineError `unknown role <role>: …` listing those that there are
 * Spec: ENGINES › Errors
 */
export function findRole<Role extends { name: string }>(roles: readonly Role[], name: string): Role {
	const found = roles.find((role) => role.name === name);
	if (found === undefined) throw unknownRole(name, roles);
	return found;
}

/** The refusal of a role that the engine does not have. The name is shown cut off, with what is invisible in it spelled out. */
export function unknownRole(name: string, roles: readonly { name: string }[]): EngineError {
	const known = roles.map((role) => role.name).join(", ");
	return new EngineError(`unknown role ${shown(name)}: valid roles are ${known}`);
}

function shown(name: string): string {
	// A character is at most two units.
	const characters = [...name.slice(0, 2 * (MAX_SHOWN_CHARACTERS + 1))];
	const start = characters.slice(0, MAX_SHOWN_CHARACTERS).join("");
	return start.replace(INVISIBLE, spelled) + (characters.length > MAX_SHOWN_CHARACTERS ? "…" : "");
}

function spelled(character: string): string {
	return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
