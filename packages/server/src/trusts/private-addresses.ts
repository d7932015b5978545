import { BlockList, isIP } from "node:net";

/** Networks that are nobody's address on the Internet: this machine, private ones, those of a link, of clouds' metadata, and all that wrap an IPv4 address. */
const IPV4 = [
	...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
	...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
	...["224.0.0.0/4", "240.0.0.0/4"],
];
const IPV6 = [
	...["::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16"],
	...["3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
];

const blocked = new BlockList();
for (const [networks, family] of [
	[IPV4, "ipv4"],
	[IPV6, "ipv6"],
] as const) {
	for (const network of networks) {
		const [address = "", bits] = network.split("/");
		blocked.addSubnet(address, Number(bits), family);
	}
}

/** Tells whether an IP address is not one of the public Internet, or is none. An IPv4 address on an IPv6 socket counts as itself. */
export function isPrivateAddress(address: string): boolean {
	const family = isIP(address);
	if (family === 0) return true;
	return blocked.check(address, family === 4 ? "ipv4" : "ipv6");
}
