/*
 * The server with the one promise taken away that the power-loss replay is about: commits are not synced. Nothing that is shipped
 * can be told to do this; the replay must notice it.
 */
import { readConfig, startServer } from "../../../packages/server/src/main.ts";

// biome-ignore lint/style/noProcessEnv: this is a process of its own, with an environment built by the test
const running = await startServer(readConfig(process.env, process.cwd()), [], { synchronous: "NORMAL" });
process.stdout.write(`listening on ${running.url}\n`);
process.once("SIGTERM", async () => {
	await running.stop();
	process.exit(0);
});
