import process from "node:process";
import { fileURLToPath } from "node:url";
import containerorch from "@svc/plugin-containerorch/plugin.json" with { type: "json" };
import documentdb from "@svc/plugin-documentdb/plugin.json" with { type: "json" };
import keyvalue from "@svc/plugin-keyvalue/plugin.json" with { type: "json" };
import pki from "@svc/plugin-pki/plugin.json" with { type: "json" };
import totp from "@svc/plugin-totp/plugin.json" with { type: "json" };
import type { ShippedEngine } from "@svc/server";

const root = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/**
 * What a program consists of when it runs from source. Not the whole repository: the server's data is in it by default.
 * Design: §7.1
 */
const SOURCE = ["packages", "plugins", "node_modules", "package.json"].map(root);

/** Where a pod finds its token, the authority's certificate and its namespace. Spec: ENGINES › Container orchestrator engine configuration */
const IN_CLUSTER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The engines that come with svc, and how the server starts each: this executable again, as `svc plugin <type>`. Design: §8 */
export const SHIPPED: ShippedEngine[] = [
	shipped(containerorch, { network: true, reads: [IN_CLUSTER] }),
	shipped(documentdb),
	shipped(keyvalue),
	shipped(pki),
	shipped(totp),
];

function shipped(descriptor: { name: string }, { network = false, reads = [] as string[] } = {}): ShippedEngine {
	const launch = {
		file: process.execPath,
		arguments: [fileURLToPath(new URL("./main.ts", import.meta.url)), "plugin", descriptor.name],
	};
	return { descriptor, network, launch, node: true, reads: [...SOURCE, ...reads] };
}
