/* Name constraints: the names that an authority's certificates may have (RFC 5280 §4.2.1.10). pkijs reads this too; see certificate-fields.ts. */
import { type Element, readElements, readItems, required } from "./der-reader.ts";
import { readDirectoryName } from "./directory-name.ts";
import { type GeneralName, NAME_KIND, readGeneralNames, toGeneralName } from "./general-name.ts";
import { isHostName } from "./host-name.ts";
import { isTouching, pathsOf } from "./name-path.ts";
import { ATTRIBUTE } from "./oid.ts";

/** The constraints of an authority by kind of name; without an entry, names of a kind are free. */
export type NameConstraints = ReadonlyMap<number, Subtrees>;

/** Paths of subtrees: a name must be in one of the permitted, if there are any, and must touch none of the excluded. */
interface Subtrees {
	permitted: string[];
	excluded: string[];
}

/** A name that a certificate claims, and its place there. */
interface ClaimedName extends GeneralName {
	place: string;
}

const TAG = { permitted: 0xa0, excluded: 0xa1 } as const;

/**
 * Reads the constraints of an authority.
 * @param der the value of the extension
 * @throws Error naming their fault; nothing of their content
 */
export function readNameConstraints(der: Buffer): NameConstraints {
	const constraints = new Map<number, Subtrees>();
	const lists = readItems(der);
	if (lists.length === 0) {
		throw new Error("there are none");
	}
	for (const list of lists) {
		for (const { kind, content } of readSubtrees(list)) {
			const subtrees = constraints.get(kind) ?? { permitted: [], excluded: [] };
			subtrees[list.tag === TAG.permitted ? "permitted" : "excluded"].push(subtreePath(kind, content));
			constraints.set(kind, subtrees);
		}
	}
	return constraints;
}

function readSubtrees(list: Element): GeneralName[] {
	const subtrees = readElements(list.content);
	if (subtrees.length === 0 || !(list.tag === TAG.permitted || list.tag === TAG.excluded)) {
		throw new Error("a list of them is empty or not understood");
	}
	return subtrees.map(({ content }) => {
		const [base, ...distances] = readElements(content);
		if (distances.length > 0) {
			throw new Error("one has a minimum or a maximum, which are not understood");
		}
		return toGeneralName(required(base));
	});
}

/** Makes a subtree's path. A kind that is not understood needs none: its names are refused wherever a constraint exists. */
function subtreePath(kind: number, content: Buffer): string {
	const paths = pathsOf(kind);
	const path = paths === undefined ? "" : paths.ofSubtree(content);
	if (path === undefined) {
		throw new Error("one is no host name such as example.com, no address with a mask, or no mailbox");
	}
	return path;
}

/**
 * Tells why an authority's constraints forbid a name of a certificate; undefined when they allow all of them.
 * A name that cannot be compared, for its kind or its form, is forbidden where constraints on its kind exist.
 * @param subject the encoded subject
 * @param alternativeNames the encoded list of names; empty when there is none
 */
export function faultOfNames(
	constraints: NameConstraints | undefined,
	subject: Buffer,
	alternativeNames: Buffer,
): string | undefined {
	if (constraints === undefined) {
		return undefined;
	}
	const forbidden = readClaimedNames(subject, alternativeNames).find((name) => !isAllowed(constraints, name));
	return forbidden && `${forbidden.place} is not allowed by the name constraints of the CA certificate`;
}

function isAllowed(constraints: NameConstraints, { kind, content }: GeneralName): boolean {
	const subtrees = constraints.get(kind);
	if (subtrees === undefined) {
		return true;
	}
	const path = pathsOf(kind)?.ofName(content);
	if (path === undefined || subtrees.excluded.some((excluded) => isTouching(path, excluded))) {
		return false;
	}
	return subtrees.permitted.length === 0 || subtrees.permitted.some((permitted) => path.startsWith(permitted));
}

function readClaimedNames(subject: Buffer, alternativeNames: Buffer): ClaimedName[] {
	const names = readGeneralNames(alternativeNames).map((name, index) => ({ ...name, place: `san entry ${index + 1}` }));
	return [...readSubjectNames(subject, !names.some((name) => name.kind === NAME_KIND.dns)), ...names];
}

/** @param isHost whether peers may look for a host name in the subject, which they do if no alternative name is one */
function readSubjectNames(subject: Buffer, isHost: boolean): ClaimedName[] {
	const attributes = readDirectoryName(subject).flat();
	const names = attributes.flatMap(({ type, text }): ClaimedName[] => {
		const content = Buffer.from(text);
		if (type.equals(ATTRIBUTE.emailAddress)) {
			return [{ kind: NAME_KIND.email, content, place: "subject" }];
		}
		// OpenSSL distinguishes a host from, say, a person in the same way.
		const isHostLike = isHost && type.equals(ATTRIBUTE.commonName) && text.includes(".") && isHostName(text);
		return isHostLike ? [{ kind: NAME_KIND.dns, content, place: "common_name" }] : [];
	});
	return attributes.length === 0
		? names
		: [{ kind: NAME_KIND.directory, content: subject, place: "subject" }, ...names];
}
