import type { LdapSettings } from "../settings.ts";
import { type DistinguishedName, isBelow, parseDn } from "./dn.ts";

/** No real name is longer: the rest is ignored. */
const MAX_CHARACTERS = 1024;

/** Characters that directories ignore: accents (Active Directory), and invisible characters (RFC 4518, 2.2). */
const UNSEEN = /[\p{Mn}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Returns the name under which guesses of a person's password are counted. A distinguished name has any number of spellings, even of its
 * attributes' types: only the values below the base count, so that a person right below it counts as under the plain name. Names that any
 * directory takes for the same are the same here.
 */
export function accountOf({ user_base_dn }: Pick<LdapSettings, "user_base_dn">, username: string): string {
	const text = username.slice(0, MAX_CHARACTERS);
	const [name, base] = [parseDn(text), parseDn(user_base_dn)];
	const isDn = name !== undefined && base !== undefined && isBelow(name, base);
	return folded(isDn ? valuesOf(name.slice(0, -base.length)) : text);
}

function valuesOf(name: DistinguishedName): string {
	const values = name.map((parts) => parts.map(({ value }) => folded(value)));
	return values.map((parts) => parts.toSorted((one, other) => (one < other ? -1 : 1)).join("+")).join(",");
}

/** Folds case in both directions: some letters are equal only in capitals. */
function folded(text: string): string {
	const seen = text.normalize("NFKD").replace(UNSEEN, "").toUpperCase().toLowerCase();
	return seen.normalize("NFKC").replace(/\s+/g, " ").trim();
}
