#!/usr/bin/env node
import process from "node:process";

const [command, ...rest] = process.argv.slice(2);

/**
 * One executable: `svc server` is the server, `svc plugin` a shipped engine, `svc engine test` tries an engine out, everything else is the
 * command line client. Each loads only what it needs.
 */
if (command === "server") {
	const { runServer } = await import("./server.ts");
	await runServer(process, rest);
} else if (command === "plugin") {
	const { runPlugin } = await import("./plugin.ts");
	await runPlugin(process, rest);
} else if (command === "engine" && rest[0] === "test") {
	const { runEngineTest } = await import("./engine-test.ts");
	process.exitCode = await runEngineTest(process, rest.slice(1));
} else {
	const { runCli } = await import("@svc/cli");
	process.exitCode = await runCli(process.argv.slice(2), process);
}
