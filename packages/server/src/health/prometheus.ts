import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

type Parts = Pick<typeof import("prom-client"), "Counter" | "Gauge" | "Histogram" | "Registry">;

/** The parts of prom-client in use. Its entry point also loads OpenTelemetry, a gateway and the support for clusters of processes. */
export const prometheus = {
	Counter: require("prom-client/lib/counter"),
	Gauge: require("prom-client/lib/gauge"),
	Histogram: require("prom-client/lib/histogram"),
	Registry: require("prom-client/lib/registry"),
} as Parts;
