import process from "node:process";
import { type BuiltInEngine, readConfig, type StartOptions, startServer } from "../../packages/server/src/main.ts";

/** Runs the server in this process until SIGTERM, as `svc server` does: for test programs that start it in their own way. */
export async function runOwnServer(built_in: readonly BuiltInEngine[], options: StartOptions = {}): Promise<void> {
	// biome-ignore lint/style/noProcessEnv: the program is a process of its own, with an environment built by the test
	const running = await startServer(readConfig(process.env, process.cwd()), built_in, options);
	process.once("SIGTERM", async () => {
		await running.stop();
		process.exit(0);
	});
	process.stdout.write(`listening on ${running.url}\n`);
}
