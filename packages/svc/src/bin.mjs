#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

/*
 * Caches what Node makes of the sources: without the cache, every start strips the types of each file again, which costs 40 MB and half of
 * the time. This file is JavaScript so that nothing is left to be stripped; threads learn the folder from the environment.
 */
const folder = fileURLToPath(new URL("../../../node_modules/.cache/svc", import.meta.url));
// biome-ignore lint/style/noProcessEnv: it is said to Node, not read
process.env.NODE_COMPILE_CACHE = folder;
enableCompileCache(folder);

await import("./main.ts");
