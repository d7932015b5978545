/*
 * Paths: texts that make every comparison of a name with a subtree of names the same one. A name is in a subtree when its path begins
 * with the path of the subtree (RFC 5280 §4.2.1.10).
 *
 *   DNS        .com.example.app.     is in  .com.example.
 *   e-mail     .com.example@ada@     is in  .com.example@ for all of a host, and in .com. for all of the hosts below com
 *   address    4:00001010…           is in  4:00001010    for 10.0.0.0/8
 *   directory  a line for each set of attributes
 */
import { type Attribute, readDirectoryName } from "./directory-name.ts";
import { NAME_KIND } from "./general-name.ts";
import { isHostName } from "./host-name.ts";

/** Makes a path; undefined when the content is no name, or no subtree, of the kind. */
type ToPath = (content: Buffer) => string | undefined;

/** The paths of a kind of names. */
interface Kind {
	ofName: ToPath;
	ofSubtree: ToPath;
}

const WILDCARD = "*.";
/** Bits of a network mask: ones, then zeros. */
const NETMASK = /^1*0*$/;
const ADDRESS_BYTES = [4, 16];

const dns: Kind = {
	ofName: (content) => suffixed(hostPath(text(content)), "."),
	// An empty subtree contains every host name.
	ofSubtree: (content) => (content.length === 0 ? "" : suffixed(plainHostPath(text(content)), ".")),
};

const email: Kind = {
	ofName: (content) => mailboxPath(text(content)),
	ofSubtree(content) {
		const base = text(content);
		if (base.includes("@")) {
			return mailboxPath(base);
		}
		return base.startsWith(".") ? suffixed(plainHostPath(base.slice(1)), ".") : suffixed(plainHostPath(base), "@");
	},
};

const address: Kind = {
	ofName: (content) => (ADDRESS_BYTES.includes(content.length) ? `${content.length}:${bits(content)}` : undefined),
	ofSubtree(content) {
		const length = content.length / 2;
		const mask = bits(content.subarray(length));
		if (!(ADDRESS_BYTES.includes(length) && NETMASK.test(mask))) {
			return undefined;
		}
		return `${length}:${bits(content).slice(0, mask.lastIndexOf("1") + 1)}`;
	},
};

const directory: Kind = { ofName: directoryPath, ofSubtree: directoryPath };

const KINDS: Readonly<Record<number, Kind>> = {
	[NAME_KIND.dns]: dns,
	[NAME_KIND.email]: email,
	[NAME_KIND.address]: address,
	[NAME_KIND.directory]: directory,
};

/** Finds the paths of a kind of names; undefined for an unknown kind. */
export function pathsOf(kind: number): Kind | undefined {
	return KINDS[kind];
}

/**
 * Tells whether part of a name is in a subtree: the name itself, or one of the names that a wildcard stands for.
 * A peer that looks for bar.example.com accepts *.example.com, so excluding the one excludes the other.
 */
export function isTouching(path: string, subtree: string): boolean {
	if (path.startsWith(subtree)) {
		return true;
	}
	const parent = path.slice(0, -WILDCARD.length);
	const isBelow = path.endsWith(`.${WILDCARD}`) && subtree.startsWith(parent);
	return isBelow && subtree.indexOf(".", parent.length) === subtree.length - 1;
}

function text(content: Buffer): string {
	return content.toString("latin1");
}

function bits(content: Buffer): string {
	return [...content].map((byte) => byte.toString(2).padStart(8, "0")).join("");
}

function suffixed(path: string | undefined, end: string): string | undefined {
	return path === undefined ? undefined : path + end;
}

function hostPath(host: string): string | undefined {
	return isHostName(host) ? `.${host.toLowerCase().split(".").toReversed().join(".")}` : undefined;
}

function plainHostPath(host: string): string | undefined {
	return host.startsWith(WILDCARD) ? undefined : hostPath(host);
}

/** Makes a mailbox's path. The part before the `@` is the host's own affair, compared letter by letter; it contains no `@` here, which ends it. */
function mailboxPath(mailbox: string): string | undefined {
	const [user, host = "", ...more] = mailbox.split("@");
	return user && more.length === 0 ? suffixed(plainHostPath(host), `@${user}@`) : undefined;
}

/** Makes a path; undefined for a name with more combining marks in a row than Unicode allows (UAX 15): NFKC sorts them in quadratic time. */
function directoryPath(content: Buffer): string | undefined {
	const name = readDirectoryName(content);
	if (name.flat().some(({ text }) => /[\p{M}\uff9e\uff9f]{31}/u.test(text))) return undefined;
	const sets = name.map((set) => set.map(comparable).toSorted(byText));
	return sets.map((set) => `${JSON.stringify(set)}\n`).join("");
}

function byText(left: string, right: string): number {
	return left < right ? -1 : 1;
}

/** Removes what RFC 5280 §7.1 does not compare: case, width and runs of spaces. */
function comparable(attribute: Attribute): string {
	const words = attribute.text.normalize("NFKC").toLowerCase().trim().replaceAll(/\s+/g, " ");
	return `${attribute.type.toString("hex")} ${words}`;
}
