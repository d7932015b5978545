import { type Asserted, ProviderUnavailable, SsoRefusal } from "../model.ts";
import type { LdapSettings } from "../settings.ts";
import { connect, type Directory, type Entry, RESULT, ResultError } from "./directory.ts";
import { type DistinguishedName, isBelow, normalDn, parseDn, textOf, writeDn } from "./dn.ts";
import { type Filling, type Filter, FilterError, readFilter } from "./filter.ts";

/** The most groups of one entry. */
const MAX_GROUPS = 1000;
const MAX_TEXT_CHARACTERS = 1024;
const USERNAME = "{username}";
const GROUP_FILTER = "(member={dn})";
/** A name without an entry. Its password is tried too, so that the time does not reveal who exists. */
const NOBODY = "cn=svc-no-such-person";
/** Binary identifiers, written as hexadecimal digits. */
const BINARY_IDS = new Set(["objectguid", "objectsid", "guid"]);
const ATTRIBUTE = /^[a-z0-9][\w.;-]*$/i;

/** Result codes of a directory that refuses a password, permanently or for now. */
const REFUSED_PASSWORD = new Set<number>([
	RESULT.constraint_violation,
	RESULT.no_such_object,
	RESULT.inappropriate_authentication,
	RESULT.invalid_credentials,
	RESULT.insufficient_access,
	RESULT.unwilling,
]);

/** Result codes of a directory for a name that does not exist. */
const NOT_THERE = new Set<number>([
	RESULT.referral,
	RESULT.no_such_object,
	RESULT.invalid_dn,
	RESULT.insufficient_access,
]);

/** The credentials of a person who signs in. */
export interface Credentials {
	/** The value that `user_filter` looks for, or a distinguished name below `user_base_dn`. */
	username: string;
	password: string;
}

/**
 * Looks up a entry, proves the password on a separate connection, and reads the groups.
 * @throws SsoRefusal unknown (nobody, or several), password, subject (not exactly one `id_attribute`); ProviderUnavailable
 */
export async function login(settings: LdapSettings, { username, password }: Credentials): Promise<Asserted> {
	const base = baseOf(settings.user_base_dn, "user_base_dn");
	const directory = await open(settings);
	try {
		const entry = await findEntry(directory, settings, base, username);
		await prove(settings, entry?.dn ?? `${NOBODY},${settings.user_base_dn}`, password, entry === undefined);
		if (entry === undefined) throw new SsoRefusal("unknown");
		const email = textsOf(entry, settings.email_attribute)[0];
		return {
			issuer: normalDn(base),
			subject: subjectOf(entry, settings.id_attribute),
			email,
			// Only the directory's administrators decide whose mail this is.
			email_verified: email !== undefined,
			name: textsOf(entry, settings.name_attribute)[0],
			groups: await groupsOf(directory, settings, entry.dn),
		};
	} finally {
		directory.unbind();
	}
}

/** Tests everything but a person's password. @throws ProviderUnavailable */
export async function tryOut(settings: LdapSettings): Promise<void> {
	const base = baseOf(settings.user_base_dn, "user_base_dn");
	filterOf(settings.user_filter, { placeholder: USERNAME, value: undefined }, "user_filter");
	if (settings.group_base_dn !== undefined) groupFilterOf(settings, "cn=nobody");
	const directory = await open(settings);
	try {
		await mustBeThere(directory, writeDn(base), "user_base_dn");
		if (settings.group_base_dn !== undefined) {
			await mustBeThere(directory, writeDn(baseOf(settings.group_base_dn, "group_base_dn")), "group_base_dn");
		}
	} finally {
		directory.unbind();
	}
}

async function open(settings: LdapSettings): Promise<Directory> {
	const { bind_dn, bind_password, id_attribute, email_attribute, name_attribute } = settings;
	if ((bind_dn === undefined) !== (bind_password === undefined)) {
		throw new ProviderUnavailable("bind_dn and bind_password must both be set, or neither for an anonymous search");
	}
	if (![id_attribute, email_attribute, name_attribute].every((name) => ATTRIBUTE.test(name))) {
		throw new ProviderUnavailable("id_attribute, email_attribute and name_attribute must be names of attributes");
	}
	const directory = await connect(endpointOf(settings));
	if (bind_dn === undefined || bind_password === undefined) return directory;
	try {
		await directory.bind(bind_dn, bind_password);
		return directory;
	} catch (error) {
		directory.unbind();
		throw unavailable(error, "the directory rejects bind_dn and bind_password");
	}
}

function endpointOf({ url, start_tls, ca_cert }: LdapSettings) {
	return { url, start_tls, ca_cert };
}

/**
 * Finds the entry of a user. A name below the base is looked up itself, and must match the rest of `user_filter`: it may not admit
 * anybody whom the filter keeps out.
 */
async function findEntry(
	directory: Directory,
	settings: LdapSettings,
	base: DistinguishedName,
	username: string,
): Promise<Entry | undefined> {
	const dn = parseDn(username);
	const isDn = dn !== undefined && isBelow(dn, base);
	const { id_attribute, email_attribute, name_attribute } = settings;
	try {
		const found = await directory.search({
			base: writeDn(isDn ? dn : base),
			scope: isDn ? "base" : "sub",
			filter: filterOf(
				settings.user_filter,
				{ placeholder: USERNAME, value: isDn ? undefined : username },
				"user_filter",
			),
			attributes: [...new Set([id_attribute, email_attribute, name_attribute])],
			limit: 2,
		});
		return found.length === 1 && found[0]?.dn.trim() !== "" ? found[0] : undefined;
	} catch (error) {
		const code = error instanceof ResultError ? error.code : undefined;
		if (code === RESULT.size_limit || (isDn && code !== undefined && NOT_THERE.has(code))) return undefined;
		throw unavailable(
			error,
			"the directory cannot search user_base_dn: check that it exists and that bind_dn may read it",
		);
	}
}

/** @throws SsoRefusal password, unless nobody has the name */
async function prove(settings: LdapSettings, dn: string, password: string, isNobody: boolean): Promise<void> {
	const directory = await connect(endpointOf(settings));
	try {
		await directory.bind(dn, isNobody ? NOBODY : password);
	} catch (error) {
		if (!(error instanceof ResultError && (isNobody || REFUSED_PASSWORD.has(error.code)))) {
			throw unavailable(error, "the directory cannot check passwords: see its log");
		}
		if (!isNobody) throw new SsoRefusal("password");
	} finally {
		directory.unbind();
	}
}

async function groupsOf(directory: Directory, settings: LdapSettings, dn: string): Promise<string[]> {
	if (settings.group_base_dn === undefined) return [];
	const base = writeDn(baseOf(settings.group_base_dn, "group_base_dn"));
	const filter = groupFilterOf(settings, dn);
	try {
		const groups = await directory.search({ base, scope: "sub", filter, attributes: ["cn"], limit: MAX_GROUPS });
		return [...new Set(groups.flatMap((group) => textsOf(group, "cn")))].slice(0, MAX_GROUPS);
	} catch (error) {
		// A part of the groups, in the directory's own order, would give and remove roles by chance.
		const isTooMany = error instanceof ResultError && error.code === RESULT.size_limit;
		const message = isTooMany
			? `a user is in more than ${MAX_GROUPS} groups, or in more than the directory returns: narrow group_filter`
			: "the directory cannot search group_base_dn: check that it exists and that bind_dn may read it";
		throw unavailable(error, message);
	}
}

async function mustBeThere(directory: Directory, base: string, field: string): Promise<void> {
	const filter = filterOf("(objectClass={x})", { placeholder: "{x}", value: undefined }, field);
	const message = `the directory does not show ${field}: check that it exists and that bind_dn may read it`;
	try {
		const found = await directory.search({ base, scope: "base", filter, attributes: ["1.1"], limit: 1 });
		if (found.length === 1) return;
	} catch (error) {
		throw unavailable(error, message);
	}
	throw new ProviderUnavailable(message);
}

function groupFilterOf({ group_filter }: LdapSettings, dn: string): Filter {
	return filterOf(group_filter ?? GROUP_FILTER, { placeholder: "{dn}", value: dn }, "group_filter");
}

function filterOf(text: string, filling: Filling, field: string): Filter {
	try {
		return readFilter(text, filling);
	} catch (error) {
		if (!(error instanceof FilterError)) throw error;
		const { placeholder } = filling;
		throw new ProviderUnavailable(
			`${field} must be a filter that contains ${placeholder}, such as (uid=${placeholder})`,
		);
	}
}

function baseOf(text: string, field: string): DistinguishedName {
	const name = parseDn(text);
	if (name === undefined) throw new ProviderUnavailable(`${field} must be a name such as ou=people,dc=example,dc=com`);
	return name;
}

/** Reads the one value of an attribute. @throws SsoRefusal subject */
function subjectOf(entry: Entry, attribute: string): string {
	const values = entry.attributes.get(attribute.toLowerCase()) ?? [];
	const subject = BINARY_IDS.has(attribute.toLowerCase()) ? values[0]?.toString("hex") : textsOf(entry, attribute)[0];
	if (values.length !== 1 || subject === undefined || subject === "") throw new SsoRefusal("subject");
	return subject;
}

/** Reads the values that are one line of text within the length limit. */
function textsOf(entry: Entry, attribute: string): string[] {
	const values = entry.attributes.get(attribute.toLowerCase()) ?? [];
	const texts = values.map(textOf).filter((text) => text !== undefined);
	return texts.filter((text) => /^\P{Cc}*\S\P{Cc}*$/u.test(text) && text.length <= MAX_TEXT_CHARACTERS);
}

/** Explains a result code that only a misconfiguration can cause; returns other errors as they are. */
function unavailable(error: unknown, message: string): unknown {
	if (!(error instanceof ResultError)) return error;
	if (error.code === RESULT.referral)
		return new ProviderUnavailable("the directory refers to another server: set url to that server");
	if (error.code === RESULT.busy || error.code === RESULT.unavailable) {
		return new ProviderUnavailable("the directory is busy or shutting down");
	}
	return new ProviderUnavailable(`${message} (result code ${error.code})`);
}
