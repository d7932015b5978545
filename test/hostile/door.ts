import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Server, type ServerOptions, startServer } from "../harness.ts";

const POLL_MS = 2;
const PATIENCE_MS = 60_000;

/** A server whose next change can be held between its decision and its transaction. */
export interface HoldingServer {
	readonly server: Server;
	/**
	 * Holds the next change requested, runs `meanwhile`, and lets the change through.
	 * @returns the answer to the held request, and its name: noun and verb
	 */
	during<T>(ask: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<{ answer: T; held: string }>;
}

/** Starts such a server. */
export async function startHoldingServer({ env = {} }: Pick<ServerOptions, "env"> = {}): Promise<HoldingServer> {
	const door = join(tmpdir(), `svc-door-${crypto.randomUUID()}`);
	const [armed, held] = [`${door}.armed`, `${door}.held`];
	const server = await startServer({ program: "test/hostile/holding-server.ts", env: { ...env, SVC_TEST_DOOR: door } });
	return {
		server,
		async during(ask, meanwhile) {
			writeFileSync(armed, "");
			const asked = ask();
			for (const end = Date.now() + PATIENCE_MS; !existsSync(held); await pause(POLL_MS)) {
				const isOver = await Promise.race([asked.then(() => true), pause(0, false)]);
				if ((isOver && !existsSync(held)) || Date.now() > end) {
					rmSync(armed, { force: true });
					assert.fail(`nothing was held before the answer: ${JSON.stringify(await asked).slice(0, 500)}`);
				}
			}
			const name = readFileSync(held, "utf8");
			try {
				await meanwhile();
			} finally {
				rmSync(held);
			}
			return { answer: await asked, held: name };
		},
	};
}
