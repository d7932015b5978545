import type { Ask } from "../exchange.ts";
import { type Pace, pacedLatencies } from "../paced.ts";
import { login, register, settle } from "../resident.ts";
import { median, quantile } from "../rounds.ts";
import type { Result, Scenario } from "../scenario.ts";
import { startSvc } from "../svc-server.ts";

const CLIENTS = 8;
const ROUNDS = 3;
const PACE: Pace = { connections: 4, everyMs: 10, seconds: 6 };
const WARM_UP: Pace = { ...PACE, seconds: 3 };
const MAX_P99_RATIO = 3;

/** Reads while nobody and while everybody signs in: a password costs 40 ms of a core, and reads must not wait for it. */
export const LOGIN_STORM: Scenario = {
	name: "login",
	title: `reads while ${CLIENTS} clients sign in without pause`,
	run: loginStorm,
};

async function loginStorm(): Promise<Result> {
	const server = await startSvc({ protocol: "http" });
	const { url } = server;
	const { slug, key, token } = await settle(url);
	const emails = Array.from({ length: CLIENTS }, (_, at) => `login-${at}@example.test`);
	for (const email of emails) await register(url, email);
	const read: Ask = { method: "GET", path: `/api/v1/realms/${slug}/secrets/${key}`, token };
	await pacedLatencies(url, read, WARM_UP);
	const idle: number[] = [];
	const stormy: number[] = [];
	let logins = 0;
	for (let round = 0; round < ROUNDS; round++) {
		idle.push(quantile(await pacedLatencies(url, read, PACE), 0.99));
		const storm = startStorm(url, emails);
		stormy.push(quantile(await pacedLatencies(url, read, PACE), 0.99));
		logins += await storm.stop();
	}
	await server.stop();
	const ratios = stormy.map((p99, round) => p99 / (idle[round] ?? Number.NaN));
	return {
		findings: [
			{ measure: "p99 of reads to idle", value: median(ratios), unit: "ratio", target: { atMost: MAX_P99_RATIO } },
			{ measure: "p99 of reads, idle", value: median(idle), unit: "ms" },
			{ measure: "p99 of reads, during logins", value: median(stormy), unit: "ms" },
			{ measure: "logins", value: logins / (ROUNDS * PACE.seconds), unit: "per second" },
		],
	};
}

/** Signs in until stopped; `stop` returns the number of logins that succeeded. @throws Error, from `stop`, when one was refused */
function startStorm(url: string, emails: readonly string[]): { stop(): Promise<number> } {
	let isOver = false;
	const clients = emails.map(async (email, at) => {
		let logins = 0;
		// Four password checks of one address may wait.
		for (; !isOver; logins++) await login(url, email, `127.0.1.${at + 1}`);
		return logins;
	});
	const all = Promise.all(clients);
	all.catch(() => undefined);
	return {
		async stop() {
			isOver = true;
			return (await all).reduce((sum, logins) => sum + logins, 0);
		},
	};
}
