/*
 * The server without the one promise that the power-loss replay tests: it does not sync commits. No shipped program has such a
 * setting; the replay must detect it.
 */
import { readConfig, startServer } from "../../../packages/server/src/main.ts";

// biome-ignore lint/style/noProcessEnv: this is a process of its own, with an environment built by the test
const running = await startServer(readConfig(process.env, process.cwd()), [], { synchronous: "NORMAL" });
process.stdout.write(`listening on ${running.url}\n`);
process.once("SIGTERM", async () => {
	await running.stop();
	process.exit(0);
});
