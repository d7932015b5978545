import process from "node:process";
import { type BuiltInEngine, type Components, readConfig, startServer } from "../../packages/server/src/main.ts";

/** Runs the server in this process until SIGTERM, as `svc server` does: for test programs that start it in their own way. */
export async function runOwnServer(
	built_in: readonly BuiltInEngine[],
	components: Partial<Components> = {},
): Promise<void> {
	// biome-ignore lint/style/noProcessEnv: the program is a process of its own, with an environment built by the test
	const running = await startServer(readConfig(process.env, process.cwd()), built_in, components);
	process.once("SIGTERM", async () => {
		await running.stop();
		process.exit(0);
	});
	process.stdout.write(`listening on ${running.url}\n`);
}
