/*
 * `node [flags] --require stand-in.cts rehearsal.ts file name words…`: runs a script of the single binary as the binary does. V8 accepts what the
 * stand-in keeps of it only in the same Node, under the same flags of V8.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { Script } from "node:vm";

const [file = "", name = "", ...words] = process.argv.slice(2);

/** Node's own modules, as in the binary. */
function require(id: string): unknown {
	const found = process.getBuiltinModule(id);
	if (found === undefined) throw new Error(`${id} is not a part of Node`);
	return found;
}

/** Type of every export of the scripts. */
type Run = (process: NodeJS.Process) => Promise<void>;

const script = new Script(readFileSync(file, "latin1"), { filename: name });
process.argv.splice(2, process.argv.length, ...words);
process.chdir(dirname(file));
const module: { exports: Record<string, Run> } = { exports: {} };
script.runInThisContext()(module.exports, require, module);
for (const run of Object.values(module.exports)) await run(process);
