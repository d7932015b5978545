import { EngineError } from "./engine.ts";

/** Characters shown of an unknown role's name. */
const MAX_SHOWN_CHARACTERS = 64;

/** Characters that a terminal obeys or a reader cannot see. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * Finds a role of plugin.json's `default_roles` by name.
 * @throws EngineError `unknown role <role>: …` listing the roles
 * Spec: ENGINES › Errors
 */
export function findRole<Role extends { name: string }>(roles: readonly Role[], name: string): Role {
	const found = roles.find((role) => role.name === name);
	if (found === undefined) throw unknownRole(name, roles);
	return found;
}

/** Refuses a role that the engine does not have. The message shows the shortened name, with invisible characters spelled out. */
export function unknownRole(name: string, roles: readonly { name: string }[]): EngineError {
	const known = roles.map((role) => role.name).join(", ");
	return new EngineError(`unknown role ${shown(name)}: valid roles are ${known}`);
}

function shown(name: string): string {
	// A character has two units at most.
	const characters = [...name.slice(0, 2 * (MAX_SHOWN_CHARACTERS + 1))];
	const start = characters.slice(0, MAX_SHOWN_CHARACTERS).join("");
	return start.replace(INVISIBLE, spelled) + (characters.length > MAX_SHOWN_CHARACTERS ? "…" : "");
}

function spelled(character: string): string {
	return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
