#!/usr/bin/env node
import process from "node:process";

const [command, ...rest] = process.argv.slice(2);

/** One executable: `svc server` is the server, everything else the command line client. Each loads only what it needs. */
if (command === "server") {
	const { runServer } = await import("./server.ts");
	await runServer(process, rest);
} else {
	const { runCli } = await import("@svc/cli");
	process.exitCode = await runCli(process.argv.slice(2), process);
}
