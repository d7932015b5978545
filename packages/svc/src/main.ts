#!/usr/bin/env node
import process from "node:process";

const [command, ...rest] = process.argv.slice(2);

/**
 * One executable: `svc server` is the server, `svc plugin` a shipped engine, everything else the command line client and the commands
 * for this machine. Each loads only what it needs.
 */
if (command === "server") {
	const { runServer } = await import("./server.ts");
	await runServer(process, rest);
} else if (command === "plugin") {
	const { runPlugin } = await import("./plugin.ts");
	await runPlugin(process, rest);
} else {
	const { runCli } = await import("@svc/cli");
	const { LOCAL_COMMANDS } = await import("./local-commands.ts");
	process.exitCode = await runCli(process.argv.slice(2), process, LOCAL_COMMANDS);
}
