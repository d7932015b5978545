import { parseDescriptor } from "@svc/protocol";
import type { CatalogEntry, ShippedEngine } from "./catalog.ts";

/**
 * What Node denies to an engine: files, processes, workers, add-ons and connections, unless they are allowed; code from texts;
 * a debugger by signal. An engine's values are small, so its heap is too.
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
export function shippedEntry(engine: ShippedEngine): CatalogEntry {
	const descriptor = parseDescriptor(engine.descriptor);
	const { launch, network, node, reads: own = [] } = engine;
	return {
		type: descriptor.name,
		descriptor,
		is_shipped: true,
		is_restricted: node,
		network,
		unavailable: undefined,
		launch(reads) {
			if (!node) return launch;
			const files = [...own, ...reads].map((path) => `--allow-fs-read=${path}`);
			const flags = [...RESTRICTIONS, ...(network ? ["--allow-net"] : []), ...files];
			return { file: launch.file, arguments: [...flags, ...launch.arguments] };
		},
	};
}
