/* The server with a clock that begins days or minutes ago and goes on by a day, or by these minutes, at each SIGUSR2. */
import { system } from "../../packages/server/src/system.ts";
import { runOwnServer } from "./own-server.ts";

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
// biome-ignore lint/style/noProcessEnv: the program is a process of its own
const { SHIFTED_DAYS = "0", SHIFTED_MINUTES = "0" } = process.env;
const minutes_ms = Number(SHIFTED_MINUTES) * MINUTE_MS;
let ago_ms = Number(SHIFTED_DAYS) * DAY_MS + minutes_ms;

process.on("SIGUSR2", () => {
	ago_ms -= minutes_ms || DAY_MS;
});
await runOwnServer([], { system: { ...system, now: () => new Date(Date.now() - ago_ms) } });
