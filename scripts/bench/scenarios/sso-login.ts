import { Agent } from "node:https";
import { type Ask, exchange } from "../exchange.ts";
import { processorTime } from "../process-usage.ts";
import { login, register } from "../resident.ts";
import { median } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { ldapSignIns, oidcSignIns, type SignIns, type StartSignIns, samlSignIns } from "../sign-ins.ts";
import { type SvcServer, startSvc } from "../svc-server.ts";
import { measureTurns, type Turns } from "../turns.ts";

const ROUNDS = 3;
/** In a round and in the warm-up. */
const SIGN_INS = 100;
const MAX_TURN_MS = 10;

interface Kind {
	/** The measured part of a sign-in. */
	readonly name: string;
	readonly start: StartSignIns;
	/** Milliseconds of a processor; absent where there is no target. */
	readonly maxMs?: number;
}

const KINDS: readonly Kind[] = [
	{ name: "OIDC callback", start: oidcSignIns, maxMs: 20 },
	{ name: "SAML response", start: samlSignIns, maxMs: 30 },
	{ name: "LDAP login", start: ldapSignIns },
];

/** People who sign in at a provider, one after the other, each over their own connection. */
export const SSO_LOGIN: Scenario = {
	name: "sso-login",
	title: "single sign-on, HTTPS",
	run: ssoLogin,
};

async function ssoLogin(): Promise<Result> {
	const turns = measureTurns();
	const server = await startSvc({ protocol: "https", program: turns.program });
	const admin = "admin@example.test";
	await register(server.url, admin);
	const token = await login(server.url, admin);
	const findings: Finding[] = [];
	for (const kind of KINDS) {
		const signIns = await kind.start(server, token);
		findings.push(...judge(kind, await measure(server, turns, signIns)));
		await signIns.stop();
	}
	await server.stop();
	return { findings };
}

/** Processor time of the server, milliseconds. */
interface Figures {
	/** Of a sign-in's last request, all threads, median of the rounds. */
	readonly eachMs: number;
	/** The longest turn of the event loop in any round; and in the whole of the very first sign-in. */
	readonly turnMs: number;
	readonly firstTurnMs: number;
}

async function measure(server: SvcServer, turns: Turns, signIns: SignIns): Promise<Figures> {
	await turns.longestMs();
	await finish(server, [await signIns.prepare()]);
	const firstTurnMs = await turns.longestMs();
	await finish(server, await prepared(signIns));
	const rounds: { eachMs: number; turnMs: number }[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const requests = await prepared(signIns);
		await turns.longestMs();
		const before = processorTime(server.pid).allUs;
		await finish(server, requests);
		const eachMs = (processorTime(server.pid).allUs - before) / SIGN_INS / 1000;
		rounds.push({ eachMs, turnMs: await turns.longestMs() });
	}
	const eachMs = median(rounds.map((round) => round.eachMs));
	return { eachMs, turnMs: Math.max(...rounds.map(({ turnMs }) => turnMs)), firstTurnMs };
}

async function prepared({ prepare }: SignIns): Promise<Ask[]> {
	const requests: Ask[] = [];
	while (requests.length < SIGN_INS) requests.push(await prepare());
	return requests;
}

/** One address may not open as many new connections at once as all rounds together need. */
let sources = 0;

/** @throws Error when one is refused */
async function finish({ url }: SvcServer, requests: readonly Ask[]): Promise<void> {
	sources = (sources % 250) + 1;
	const agent = new Agent({ keepAlive: false, maxCachedSessions: 0, localAddress: `127.0.1.${sources}` });
	for (const request of requests) {
		const { status, body } = await exchange(url, request, agent);
		if (status !== 200) throw new Error(`a sign-in is answered with ${status}: ${body}`);
	}
}

function judge({ name, maxMs }: Kind, { eachMs, turnMs, firstTurnMs }: Figures): Finding[] {
	const target = maxMs === undefined ? {} : { target: { atMost: maxMs } };
	return [
		{ measure: `processor time, ${name}`, value: eachMs, unit: "ms", ...target },
		{
			measure: `longest turn of the event loop, ${name}`,
			value: turnMs,
			unit: "ms",
			target: { atMost: MAX_TURN_MS },
		},
		{ measure: `longest turn of the event loop, first sign-in, ${name}`, value: firstTurnMs, unit: "ms" },
	];
}
