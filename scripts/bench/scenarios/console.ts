import { setTimeout as wait } from "node:timers/promises";
import { type Ask, ask, exchange } from "../exchange.ts";
import { type LongLog, makeLongLog } from "../long-log.ts";
import { type Pace, pacedLatencies } from "../paced.ts";
import { processorTime } from "../process-usage.ts";
import { enterConsole, register } from "../resident.ts";
import { median, quantile } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { scratchFolder } from "../scratch.ts";
import { type SvcServer, startSvc } from "../svc-server.ts";

const KEYS = 500;
const ENVIRONMENTS = ["dev", "test", "staging", "prod"];
const EVENTS = 1_000_000;
const PEOPLE = 20;
/** Milliseconds from one click of a person to the next. */
const CLICK_MS = 1000;
const LOOKS = 15;
const ROUNDS = 3;
const PACE: Pace = { connections: 4, everyMs: 10, seconds: 6 };
const WARM_UP: Pace = { ...PACE, seconds: 3 };
const MAX_KEYS_MS = 150;
const MAX_KEYS_KB = 300;
const MAX_AUDIT_MS = 100;
const MAX_P99_RATIO = 2;

/** Pages of the console over much data, and reads of the API while people look at them. */
export const CONSOLE: Scenario = {
	name: "console",
	title: `the console: ${KEYS} keys in ${ENVIRONMENTS.length} environments, ${EVENTS.toLocaleString("en")} events`,
	run: pages,
};

const emailOf = (person: number | string) => `person-${person}@example.test`;
const FEW = emailOf("of-few-events");
const keyOf = (key: number) => `services/payments/SECRET_${key}`;

async function pages(): Promise<Result> {
	const directory = scratchFolder();
	const started = performance.now();
	const log = await makeLongLog(directory, EVENTS);
	const madeInS = (performance.now() - started) / 1000;
	const server = await startSvc({ protocol: "http", data: directory });
	const { url } = server;
	await addPeople(url, log);
	await addSecrets(url, log);
	const findings = [
		...(await auditPages(server, log)),
		...(await keysPage(server, log)),
		...(await readsMeanwhile(url, log)),
		{ measure: `making ${EVENTS.toLocaleString("en")} events`, value: madeInS, unit: "s" as const },
	];
	await server.stop();
	return { findings };
}

async function addPeople(url: string, { token, often, seldom }: LongLog): Promise<void> {
	const people = Array.from({ length: PEOPLE }, (_, at) => ({ email: emailOf(at), slug: often }));
	for (const { email, slug } of [...people, { email: FEW, slug: seldom }]) {
		await register(url, email);
		const body = { email, role: "member" };
		await ask(url, { method: "POST", path: `/api/v1/realms/${slug}/policy/bindings`, token, body });
	}
}

async function addSecrets(url: string, { token, often }: LongLog): Promise<void> {
	const path = `/api/v1/realms/${often}/secrets`;
	for (let key = 0; key < KEYS; key++)
		await Promise.all(
			ENVIRONMENTS.map((environment) =>
				ask(url, { method: "POST", path, token, body: { key: keyOf(key), environment, value: "a value" } }),
			),
		);
}

/** Pages of the log, each by the time of the first look after the start and of later ones. */
async function auditPages(server: Server, { often, actor, environment }: LongLog): Promise<Finding[]> {
	const realm = `/console/realms/${often}/audit`;
	const looks: [what: string, path: string, email?: string][] = [
		["a realm, with its chart", realm],
		["all that somebody may see", "/console/audit"],
		["all that somebody of a small realm may see", "/console/audit", FEW],
		["a rare actor", `/console/audit?actor=${actor}`],
		["a rare environment", `/console/audit?env=${environment}`],
		["a rare environment in a realm", `${realm}?env=${environment}`],
		["a rare environment, for somebody of a small realm", `/console/audit?env=${environment}`, FEW],
	];
	const findings: Finding[] = [];
	// The first page of any kind loads the console.
	await page(server.url, "/console", await enterConsole(server.url, emailOf(0)));
	for (const [what, path, email = emailOf(0)] of looks) {
		const { firstMs, usualMs, usedMs } = await look(server, path, email);
		findings.push(
			{
				measure: `events of ${what}, first page after the start`,
				value: firstMs,
				unit: "ms",
				target: { atMost: MAX_AUDIT_MS },
			},
			{ measure: `events of ${what}, p50`, value: usualMs, unit: "ms", target: { atMost: MAX_AUDIT_MS } },
			{ measure: `events of ${what}, processor time`, value: usedMs, unit: "ms" },
		);
	}
	return findings;
}

async function keysPage(server: Server, { often }: LongLog): Promise<Finding[]> {
	const { usualMs, usedMs, bytes } = await look(server, `/console/realms/${often}`, emailOf(0));
	return [
		{ measure: "page of all keys, p50", value: usualMs, unit: "ms", target: { atMost: MAX_KEYS_MS } },
		{ measure: "page of all keys, processor time", value: usedMs, unit: "ms" },
		{ measure: "page of all keys", value: bytes / 1000, unit: "KB", target: { atMost: MAX_KEYS_KB } },
	];
}

type Server = Pick<SvcServer, "url" | "pid">;

/** Looks at a page again and again. @throws Error when it is refused */
async function look({ url, pid }: Server, path: string, email: string) {
	const cookie = await enterConsole(url, email);
	const times: number[] = [];
	const before = processorTime(pid).allUs;
	let bytes = 0;
	for (let at = 0; at < LOOKS; at++) {
		const started = performance.now();
		bytes = Buffer.byteLength(await page(url, path, cookie));
		times.push(performance.now() - started);
	}
	const usedMs = (processorTime(pid).allUs - before) / LOOKS / 1000;
	return { firstMs: times[0] ?? Number.NaN, usualMs: median(times.slice(1)), usedMs, bytes };
}

async function page(url: string, path: string, cookie: string): Promise<string> {
	const { status, body } = await exchange(url, { method: "GET", path, cookie });
	if (status !== 200) throw new Error(`GET ${path} is answered with ${status}`);
	return body;
}

/** Reads of the API while nobody, and while everybody, looks at one page after the other. */
async function readsMeanwhile(url: string, { token, often }: LongLog): Promise<Finding[]> {
	const secret = `/secrets/${encodeURIComponent(keyOf(0))}?env=prod`;
	const read: Ask = { method: "GET", path: `/api/v1/realms/${often}${secret}`, token };
	const realm = `/console/realms/${often}`;
	const clicked = [
		realm,
		`${realm}${secret}`,
		`${realm}/audit`,
		`${realm}/compare`,
		`${realm}/leases`,
		"/console/audit",
	];
	const cookies: string[] = [];
	for (let at = 0; at < PEOPLE; at++) cookies.push(await enterConsole(url, emailOf(at)));
	await pacedLatencies(url, read, WARM_UP);
	const [idle, busy]: [number[], number[]] = [[], []];
	let clicks = 0;
	for (let round = 0; round < ROUNDS; round++) {
		idle.push(quantile(await pacedLatencies(url, read, PACE), 0.99));
		const people = startClicking(url, clicked, cookies);
		busy.push(quantile(await pacedLatencies(url, read, PACE), 0.99));
		clicks += await people.stop();
	}
	const ratios = busy.map((p99, round) => p99 / (idle[round] ?? Number.NaN));
	return [
		{
			measure: `p99 of reads to idle while ${PEOPLE} people click`,
			value: median(ratios),
			unit: "ratio",
			target: { atMost: MAX_P99_RATIO },
		},
		{ measure: "p99 of reads, idle", value: median(idle), unit: "ms" },
		{ measure: "p99 of reads, while people click", value: median(busy), unit: "ms" },
		{ measure: "clicks", value: clicks / (ROUNDS * PACE.seconds), unit: "per second" },
	];
}

/** Lets each person click once a second until stopped; `stop` returns the number of pages. @throws Error, from `stop`, when one was refused */
function startClicking(url: string, paths: readonly string[], cookies: readonly string[]): { stop(): Promise<number> } {
	let isOver = false;
	const people = cookies.map(async (cookie, at) => {
		await wait((at * CLICK_MS) / cookies.length);
		let clicks = 0;
		for (; !isOver; clicks++) {
			const started = performance.now();
			await page(url, paths[(at + clicks) % paths.length] ?? "", cookie);
			await wait(Math.max(0, CLICK_MS - (performance.now() - started)));
		}
		return clicks;
	});
	const all = Promise.all(people);
	all.catch(() => undefined);
	return {
		async stop() {
			isOver = true;
			return (await all).reduce((sum, clicks) => sum + clicks, 0);
		},
	};
}
