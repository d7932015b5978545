#!/usr/bin/env node
import process from "node:process";

/**
 * One executable: `svc server` is the server, `svc plugin` a built-in engine, everything else the command line client and the commands
 * for this machine. Each loads only what it needs. A function, because a CommonJS bundle cannot wait at its top.
 */
async function main([command, ...rest]: string[]): Promise<void> {
	if (command === "server" && rest.length === 0) {
		const { startWriterThread } = await import("@svc/server/start-writer");
		// It starts while this thread loads the server.
		const writer = startWriterThread();
		const { runServer } = await import("./server.ts");
		await runServer(process, writer);
	} else if (command === "plugin") {
		const { runPlugin } = await import("./plugin.ts");
		await runPlugin(process, rest);
	} else if (command === "version" && rest.length === 0) {
		const { VERSION } = await import("./commands/version.ts");
		await VERSION.run({ io: process, options: {} });
	} else {
		const { runClient } = await import("./client.ts");
		await runClient(process);
	}
}

void main(process.argv.slice(2));
