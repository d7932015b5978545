import { parseDescriptor } from "@svc/protocol";
import type { KindOf } from "../kinds/kind.ts";
import type { BuiltInEngine, CatalogEntry } from "./model.ts";

/**
 * Flags with which Node denies an engine: files, processes, workers, add-ons and connections, unless allowed; code from texts; a debugger by
 * signal. An engine's values are small, so its heap is too.
 * https://nodejs.org/api/permissions.html
 */
const RESTRICTIONS = [
	"--permission",
	"--disable-warning=ExperimentalWarning",
	"--disable-proto=delete",
	"--disallow-code-generation-from-strings",
	"--disable-sigusr1",
	"--max-old-space-size=64",
];

/**
 * Makes the catalogue's entry of an engine that comes with the server.
 * @throws DescriptorError
 * Design: §8
 */
export function builtInEntry(engine: BuiltInEngine, kindOf: KindOf): CatalogEntry {
	const descriptor = parseDescriptor(engine.descriptor);
	const { launch, network, node, reads: own = [] } = engine;
	return {
		type: descriptor.name,
		descriptor,
		kind: kindOf(descriptor.name, true),
		is_built_in: true,
		is_restricted: node !== false,
		network,
		unavailable: undefined,
		launch(reads) {
			if (node === false) return launch;
			const files = [...own, ...reads].map((path) => `--allow-fs-read=${path}`);
			const flags = [...RESTRICTIONS, ...(network ? ["--allow-net"] : []), ...files];
			if (node === "environment") return { ...launch, node_options: flags.map(quoted).join(" ") };
			return { file: launch.file, arguments: [...flags, ...launch.arguments] };
		},
	};
}

/** Quotes a flag, because Node splits NODE_OPTIONS at unquoted spaces. https://nodejs.org/api/cli.html#node_optionsoptions */
function quoted(flag: string): string {
	return `"${flag.replaceAll(/["\\]/g, "\\$&")}"`;
}
