/* Preloaded into each thread of a server. On SIGUSR2 every thread prints the files of the server in which a function has run since the last time. */
import { Session } from "node:inspector/promises";
import process from "node:process";
import { BroadcastChannel, isMainThread } from "node:worker_threads";

const SOURCES = new URL("../../../packages/server/src/", import.meta.url).href;

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

async function print(): Promise<void> {
	const { result } = await session.post("Profiler.takePreciseCoverage");
	const files = result.flatMap(({ url, functions }) => {
		const hasRun = functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0);
		return hasRun && url.startsWith(SOURCES) ? [url.slice(SOURCES.length)] : [];
	});
	process.stdout.write(`entered ${JSON.stringify(files)}\n`);
}

const others = new BroadcastChannel("entered");
others.unref();
others.onmessage = print;
if (isMainThread) {
	process.on("SIGUSR2", () => {
		others.postMessage("print");
		void print();
	});
}
