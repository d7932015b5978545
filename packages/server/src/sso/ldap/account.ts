import type { LdapSettings } from "../settings.ts";
import { type DistinguishedName, isBelow, parseDn } from "./dn.ts";

/** Nobody has a longer name: the rest is not looked at. */
const MAX_CHARACTERS = 1024;

/** What directories do not see: accents (Active Directory), and characters that nobody sees (RFC 4518, 2.2). */
const UNSEEN = /[\p{Mn}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The name under which guesses of a person's password are counted. A distinguished name has as many spellings as somebody likes, of its
 * attributes' types too: only the values below the base count, so that somebody right below it is counted as by the plain name. Names that
 * some directory takes for one are one here.
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

/** Some letters are one in capitals only. */
function folded(text: string): string {
	const seen = text.normalize("NFKD").replace(UNSEEN, "").toUpperCase().toLowerCase();
	return seen.normalize("NFKC").replace(/\s+/g, " ").trim();
}
