// biome-ignore-all lint/performance/noBarrelFile: the module is a list that is read as a whole

/* The kinds of engines that come with the server: one line for each, exported under its type. */
export { containerorch } from "./containerorch/kind.ts";
export { documentdb } from "./documentdb/kind.ts";
export { keyvalue } from "./keyvalue/kind.ts";
export { pki } from "./pki/kind.ts";
export { totp } from "./totp/kind.ts";
