/*
 * `node --hash-seed=42 [flags] compile-only.ts script name output`: compiles a script of the single binary without running it. What V8 makes of it is then
 * the same every time, with nothing in it but the functions that V8 compiles immediately. V8 hashes names with a seed of its own for each
 * process, and notes its flags in the result: hence the seed, and its usual value before the result is made.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

const [file = "", filename = "", output = ""] = process.argv.slice(2);
const script = new Script(readFileSync(file, "latin1"), { filename });
setFlagsFromString("--hash-seed=0");
writeFileSync(output, script.createCachedData());
