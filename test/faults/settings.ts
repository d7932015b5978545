import { randomInt } from "node:crypto";

/** The length and the randomness of the fault tests. */
export interface FaultSettings {
	/** Seed of every random choice; the tests print it so that you can repeat a failure. */
	seed: number;
	/** Number of times that the server is killed under load. */
	kills: number;
	/** Seconds for which credentials are made and revoked while everything fails. */
	walk_seconds: number;
	/** Seconds for which clients of several servers leave a history. */
	history_seconds: number;
}

const KILLS_IN_CI = 200;
const KILLS_ELSEWHERE = 25;
const WALK_SECONDS = 30;
const HISTORY_SECONDS = 45;

/**
 * Reads SVC_TEST_SEED (default: a new one), SVC_TEST_KILLS (default: 200 in CI, which takes minutes, else 25), SVC_TEST_WALK_SECONDS
 * (default: 30) and SVC_TEST_HISTORY_SECONDS (default: 45).
 * @throws Error when a value is not a whole number
 */
export function faultSettings(): FaultSettings {
	// biome-ignore lint/style/noProcessEnv: settings of the test run itself, read nowhere else
	const env = process.env;
	return {
		seed: wholeNumber(env, "SVC_TEST_SEED") ?? randomInt(2 ** 31),
		kills: wholeNumber(env, "SVC_TEST_KILLS") ?? (env.CI === "true" ? KILLS_IN_CI : KILLS_ELSEWHERE),
		walk_seconds: wholeNumber(env, "SVC_TEST_WALK_SECONDS") ?? WALK_SECONDS,
		history_seconds: wholeNumber(env, "SVC_TEST_HISTORY_SECONDS") ?? HISTORY_SECONDS,
	};
}

function wholeNumber(env: NodeJS.ProcessEnv, name: string): number | undefined {
	const text = env[name];
	if (text === undefined || text === "") return undefined;
	if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} must be a whole number`);
	return Number(text);
}
