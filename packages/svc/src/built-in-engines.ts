import process from "node:process";
import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";
import containerorch from "@svc/plugin-containerorch/plugin.json" with { type: "json" };
import documentdb from "@svc/plugin-documentdb/plugin.json" with { type: "json" };
import keyvalue from "@svc/plugin-keyvalue/plugin.json" with { type: "json" };
import pki from "@svc/plugin-pki/plugin.json" with { type: "json" };
import totp from "@svc/plugin-totp/plugin.json" with { type: "json" };
import type { BuiltInEngine } from "@svc/server";

const root = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/**
 * The parts, besides its script, of a program that runs from source. Not the whole repository: the server's data is in it by default.
 * The single binary is one file, which Node reads by itself.
 * Design: §7.1
 */
const FROM_SOURCE = {
	node: "arguments" as const,
	script: [root("packages/svc/src/main.ts")],
	reads: ["packages", "plugins", "node_modules", "package.json"].map(root),
};
const IN_BINARY = { node: "environment" as const, script: [], reads: [] };
const { node, script, reads: program } = isSea() ? IN_BINARY : FROM_SOURCE;

/** Folder of a pod's token, the authority's certificate and its namespace. Spec: ENGINES › Container orchestrator engine configuration */
const IN_CLUSTER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** An engine that comes with svc, and what its process may reach. */
interface OwnEngine {
	readonly descriptor: { readonly name: string };
	readonly network?: boolean;
	readonly reads?: readonly string[];
}

const ENGINES: readonly OwnEngine[] = [
	{ descriptor: containerorch, network: true, reads: [IN_CLUSTER] },
	...[documentdb, keyvalue, pki, totp].map((descriptor) => ({ descriptor })),
];

/** The engines that come with svc, and their start: this executable again, as `svc plugin <type>`. Design: §8 */
export const BUILT_IN: BuiltInEngine[] = ENGINES.map(builtIn);

/** Their types, which no other engine may have. */
export const BUILT_IN_TYPES: readonly string[] = ENGINES.map(({ descriptor }) => descriptor.name);

function builtIn({ descriptor, network = false, reads = [] }: OwnEngine): BuiltInEngine {
	const launch = { file: process.execPath, arguments: [...script, "plugin", descriptor.name] };
	return { descriptor, network, launch, node, reads: [...program, ...reads] };
}
