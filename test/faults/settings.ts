import { randomInt } from "node:crypto";

/** How long and with what chance the fault tests run. */
export type FaultSettings = {
	/** Seed of every random choice; printed by the tests, so that a failure can be repeated. */
	seed: number;
	/** How many times the server is killed under load. */
	kills: number;
};

/** Reads SVC_TEST_SEED (default: a new one) and SVC_TEST_KILLS (default 200). Throws when one is not a whole number. */
export function faultSettings(): FaultSettings {
	return { seed: wholeNumber("SVC_TEST_SEED") ?? randomInt(2 ** 31), kills: wholeNumber("SVC_TEST_KILLS") ?? 200 };
}

function wholeNumber(name: string): number | undefined {
	// biome-ignore lint/style/noProcessEnv: settings of the test run itself, read nowhere else
	const text = process.env[name];
	if (text === undefined || text === "") return undefined;
	if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} must be a whole number`);
	return Number(text);
}
