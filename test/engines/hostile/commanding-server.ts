/* The server with two of its own engines under hostile control: they answer with any command the caller names. */
import { fileURLToPath } from "node:url";
import type { BuiltInEngine } from "../../../packages/server/src/main.ts";
import documentdb from "../../../plugins/documentdb/plugin.json" with { type: "json" };
import keyvalue from "../../../plugins/keyvalue/plugin.json" with { type: "json" };
import { runOwnServer } from "../../harness/own-server.ts";

const SCRIPT = fileURLToPath(new URL("./fixtures/commanding.mjs", import.meta.url));

function taken(descriptor: { name: string }): BuiltInEngine {
	const launch = { file: process.execPath, arguments: [SCRIPT, descriptor.name] };
	return { descriptor, network: false, node: false, launch };
}

await runOwnServer([taken(keyvalue), taken(documentdb)]);
