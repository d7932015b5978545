/*
 * Loaded before each test file: takes what Node made of the sources at an earlier run. JavaScript, so that nothing of it is left to be stripped;
 * not in the environment, which tests hand to their programs.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/svc", import.meta.url)));
