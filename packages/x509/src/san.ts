import { isIP } from "node:net";
import { implicit, sequence } from "./der.ts";
import { NAME_KIND } from "./general-name.ts";

const MAX_ENTRIES = 100;
/** RFC 1035 limits a host name to 253 characters. */
const HOST_NAME = /^[A-Za-z0-9._*-]{1,253}$/;

/**
 * Encodes the names of a certificate (GeneralNames): an entry that parses as an IP address as such, any other as a DNS name.
 * Returns no bytes for no entries: an empty list of names is no valid extension.
 * @throws Error when an entry is neither an address nor a host name, or there are more than 100
 * Spec: Engines › pki operations
 */
export function encodeAlternativeNames(entries: readonly string[]): Buffer {
	if (entries.length > MAX_ENTRIES) {
		throw new Error(`san must have at most ${MAX_ENTRIES} entries`);
	}
	return entries.length === 0 ? Buffer.alloc(0) : sequence(...entries.map(encodeEntry));
}

function encodeEntry(entry: string, index: number): Buffer {
	const address = encodeAddress(entry);
	if (address !== undefined) {
		return implicit(NAME_KIND.address, address);
	}
	if (!HOST_NAME.test(entry)) {
		throw new Error(
			`san entry ${index + 1} must be an IP address or a host name of letters, digits, "-", "_", "." and "*"; write an international name in its xn-- form`,
		);
	}
	return implicit(NAME_KIND.dns, Buffer.from(entry, "ascii"));
}

function encodeAddress(entry: string): Buffer | undefined {
	if (isIP(entry) === 4) {
		return Buffer.from(entry.split(".").map(Number));
	}
	// A zone ("fe80::1%eth0") has a meaning on one machine only, so a certificate has no place for it.
	return isIP(entry) === 6 && !entry.includes("%") ? encodeIpv6(entry) : undefined;
}

/** The 16 bytes of a valid IPv6 address: the groups before "::" from the left, those after it from the right. */
function encodeIpv6(address: string): Buffer {
	const [head = "", tail = ""] = address.split("::").map(encodeGroups);
	const zeros = "0".repeat(32 - head.length - tail.length);
	return Buffer.from(head + zeros + tail, "hex");
}

function encodeGroups(groups: string): string {
	return groups
		.split(":")
		.filter((group) => group !== "")
		.map((group) => (group.includes(".") ? dottedToHex(group) : group.padStart(4, "0")))
		.join("");
}

/** The last 32 bits may be written as an IPv4 address. */
function dottedToHex(group: string): string {
	return Buffer.from(group.split(".").map(Number)).toString("hex");
}
