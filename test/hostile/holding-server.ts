/*
 * The server with a door before its store: once armed, it holds the next change that somebody requests, decided but not made, until the test
 * lets it through. Other requests pass meanwhile.
 */
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { openSqliteStore } from "../../packages/server/src/store/sqlite/store.ts";
import type { Store } from "../../packages/server/src/store/store.ts";
import { BUILT_IN } from "../../packages/svc/src/built-in-engines.ts";
import { runOwnServer } from "../harness/own-server.ts";

const POLL_MS = 2;

const { env } = process;
const armed = `${env.SVC_TEST_DOOR}.armed`;
const held = `${env.SVC_TEST_DOOR}.held`;

async function passDoor(name: string): Promise<void> {
	if (!existsSync(armed)) return;
	rmSync(armed);
	// The test must not find the file before its content.
	writeFileSync(`${held}.new`, name);
	renameSync(`${held}.new`, held);
	while (existsSync(held)) await pause(POLL_MS);
}

/** Tells whether it is the event of a request. */
function isAsked(event: unknown): boolean {
	return typeof event === "object" && event !== null && "actor" in event && "data" in event && event.actor !== "system";
}

type Verb = (...args: unknown[]) => unknown;

/** Makes an operation wait at the door. */
function behind(name: string, run: Verb): Verb {
	return async (...args) => {
		if (name !== "audit.append" && args.some(isAsked)) await passDoor(name);
		return run(...args);
	};
}

function withDoor<Noun extends object>(noun: string, verbs: Noun): Noun {
	const entries = Object.entries<unknown>(Object(verbs)).map(([verb, run]) => [
		verb,
		typeof run === "function" ? behind(`${noun}.${verb}`, run as Verb) : run,
	]);
	return Object.fromEntries(entries) as Noun;
}

function behindDoor(store: Store): Store {
	const doors = Object.entries(store).map(([noun, verbs]) => [
		noun,
		typeof verbs !== "object" || verbs instanceof Promise ? verbs : withDoor(noun, verbs),
	]);
	return Object.fromEntries(doors) as Store;
}

await runOwnServer(BUILT_IN, { openStore: async (options) => behindDoor(await openSqliteStore(options)) });
