/* The server with a clock that begins days ago and goes on by a day at each SIGUSR2: for pictures of a month. */
import { system } from "../../packages/server/src/system.ts";
import { runOwnServer } from "./own-server.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
// biome-ignore lint/style/noProcessEnv: the program is a process of its own
let ago = Number(process.env.SHIFTED_DAYS ?? 0);

process.on("SIGUSR2", () => {
	ago -= 1;
});
await runOwnServer([], { system: { ...system, now: () => new Date(Date.now() - ago * DAY_MS) } });
