/*
 * The server with clocks that a test sets, with frequent sweeps, and with a key-value engine that uses the names the test wants. The server
 * reads its orders from a file whenever they matter.
 */
import { readFileSync } from "node:fs";
import { createEngineHost, type EngineHost } from "../../../packages/server/src/engines/host/host.ts";
import { system } from "../../../packages/server/src/system.ts";
import { BUILT_IN } from "../../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../../harness/own-server.ts";
import type { Orders } from "./steering.ts";

const SWEEP_MS = 500;

const { env } = process;
const orders = (): Orders => JSON.parse(readFileSync(env.SVC_TEST_ORDERS ?? "", "utf8"));

let list = "";
let given = 0;

/** Returns the next name of the list; undefined at its end. A new list starts from its beginning. */
function nextName(): string | undefined {
	const { names } = orders();
	if (list !== names.join()) [list, given] = [names.join(), 0];
	return names[given++];
}

/** Sets the end and name in the engine's answer: the engine has its own clock, which nobody else sets. */
function steer(host: EngineHost): EngineHost {
	return {
		...host,
		pool(type, settings) {
			const pool = host.pool(type, settings);
			return {
				async call(method, params) {
					const answer = await pool.call(method, params);
					if (type !== "keyvalue" || method !== "generate" || !("data" in answer)) return answer;
					const { username, kv_command, expires_at } = answer.data;
					const name = nextName() ?? String(username);
					return {
						data: {
							...answer.data,
							username: name,
							kv_command: String(kv_command).replace(String(username), name),
							expires_at: new Date(Date.parse(String(expires_at)) + orders().wall_ms).toISOString(),
						},
					};
				},
			};
		},
	};
}

/** Returns the milliseconds for which the clocks have been stopped. */
function stoppedFor(): number {
	const { stopped_at } = orders();
	return stopped_at === null ? 0 : Date.now() - stopped_at;
}

await runOwnServer(BUILT_IN, {
	system: {
		...system,
		now: () => new Date(system.now().getTime() + orders().wall_ms - stoppedFor()),
		uptimeMs: () => system.uptimeMs() + orders().uptime_ms - stoppedFor(),
	},
	createHost: (needs) => steer(createEngineHost(needs)),
	sweep_ms: SWEEP_MS,
});
