import { createRequire } from "node:module";

// The entry point's ESM build loads cluster support; these are the parts that are used.
const require = createRequire(import.meta.url);

/** prom-client, loaded once. */
export const prometheus = require("prom-client") as typeof import("prom-client");
