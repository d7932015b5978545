/*
 * The server with its built-in engines, which kills itself or holds between two steps in the life of a credential. It reads the step from a
 * file at every step: `kill after leases.begin`, `hold before leases.activate`, or nothing.
 */
import { readFileSync, writeSync } from "node:fs";
import { ServerResponse } from "node:http";
import { flushCompileCache } from "node:module";
import { setTimeout } from "node:timers/promises";
import { createEngineHost } from "../../../packages/server/src/engines/host/host.ts";
import type { Kind } from "../../../packages/server/src/engines/kinds/kind.ts";
import * as KINDS from "../../../packages/server/src/engines/kinds/registry.ts";
import type { Components } from "../../../packages/server/src/main.ts";
import { openSqliteStore } from "../../../packages/server/src/store/sqlite/store.ts";
import { system } from "../../../packages/server/src/system.ts";
import { BUILT_IN } from "../../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../../harness/own-server.ts";

const { env } = process;
const STDOUT = 1;

const order = () => readFileSync(env.SVC_TEST_ORDER ?? "", "utf8");

/** Writes synchronously, so that the text gets out even when the process dies right away. */
const say = (text: string) => writeSync(STDOUT, `${text}\n`);

function die(step: string): void {
	say(`killed ${step}`);
	process.kill(process.pid, "SIGKILL");
}

async function reach(step: string): Promise<void> {
	if (order() === `kill ${step}`) die(step);
	if (order() !== `hold ${step}`) return;
	say(`held ${step}`);
	while (order() === `hold ${step}`) await setTimeout(10);
}

async function between<Result>(step: string, run: () => Result): Promise<Awaited<Result>> {
	await reach(`before ${step}`);
	const result = await run();
	await reach(`after ${step}`);
	return result;
}

/** Makes a step of every method. Synchronous ones stay as they are. */
function watched<Part extends object>(name: string, part: Part, synchronous: readonly string[] = []): Part {
	return new Proxy(part, {
		get(target, key) {
			const member: unknown = Reflect.get(target, key);
			if (typeof member !== "function") return member;
			if (synchronous.includes(String(key))) return member.bind(target);
			return (...args: unknown[]) => between(`${name}.${String(key)}`, () => member.apply(target, args));
		},
	});
}

/** Makes a step of every action at a target. */
function watchedKind(kind: Kind): Kind {
	const { connect } = kind;
	if (connect === undefined) return kind;
	return {
		...kind,
		connect: async (needs) => {
			const connector = await connect(needs);
			return connector && watched("target", connector);
		},
	};
}

const components: Partial<Components> = {
	async openStore(options) {
		const store = await openSqliteStore(options);
		return { ...store, leases: watched("leases", store.leases) };
	},
	createHost(needs) {
		const host = createEngineHost(needs);
		return {
			...host,
			pool(type, settings) {
				const pool = host.pool(type, settings);
				return { call: (method, params) => between(`engine.${method}`, () => pool.call(method, params)) };
			},
		};
	},
	kinds: Object.fromEntries(Object.entries(KINDS).map(([type, kind]) => [type, watchedKind(kind)])),
};

/** Cuts off an answer in the middle when the order says so. */
const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
	if (order() !== "kill during answer") return Reflect.apply(end, this, args);
	const text = String(args[0]);
	this.write(text.slice(0, text.length / 2), () => die("during answer"));
	return this;
};

/** Factor by which the machine's uptime, which ends leases, runs faster from here on. */
const rate = Number(env.SVC_TEST_UPTIME_RATE ?? 1);
const start_ms = system.uptimeMs();
const uptimeMs = () => start_ms + (system.uptimeMs() - start_ms) * rate;

await runOwnServer(BUILT_IN, { system: { ...system, uptimeMs }, ...components });
// A killed process does not flush by itself.
flushCompileCache();
