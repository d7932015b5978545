import { setTimeout as wait } from "node:timers/promises";
import { startProxy, type TcpProxy } from "../../../test/peers/proxy.ts";
import type { Redis } from "../../../test/peers/redis.ts";
import {
	type Copies,
	copiedName,
	copyLeases,
	type Fate,
	type Ledger,
	type Look,
	lookInto,
	makeLedger,
} from "../ledger.ts";
import { type Pace, pacedLatencies, pacedLatenciesUntil } from "../paced.ts";
import { startRedis } from "../redis.ts";
import { median, quantile } from "../rounds.ts";
import type { Finding, Result, Scenario } from "../scenario.ts";
import { startSvc } from "../svc-server.ts";

const TARGETS = 5;
/** At each target: 10,000 in total. */
const LEASES = 2000;
const DUE_WITHIN_MS = 1000;
/** At each target: 200 a second in total. */
const TRICKLE = 200;
const TRICKLE_MS = 5000;
const ROUNDS = 3;
const PACE: Pace = { connections: 4, everyMs: 10, seconds: 6 };
const WARM_UP: Pace = { ...PACE, seconds: 3 };
/** Time from the copying of the leases until the first is due: the server starts, and idle reads are measured. */
const LEAD_MS = 18_000;
const PATIENCE_MS = 120_000;
const POLL_MS = 50;
/** Repeated runs differ by a quarter. */
const MAX_SLOWDOWN = 1.25;
const MAX_P99_RATIO = 2;
const MAX_LAG_S = 2;
const MAX_RETURN_S = 10;

/** Very many leases due together while one target swallows everything, and a few at a time. */
export const LEASES_DUE: Scenario = {
	name: "leases-due",
	title: `${(TARGETS * LEASES).toLocaleString("en")} leases due in a second at ${TARGETS} targets, one unreachable`,
	run: leasesDue,
};

/** Five stores, of which the last is behind a proxy that can swallow everything. */
interface Stores {
	readonly ledger: Ledger;
	readonly redis: readonly Redis[];
	readonly proxy: TcpProxy;
	readonly look: Look;
	/** Number of the next copy. */
	next: number;
}

/** Result of a wave of leases. */
interface Wave {
	readonly idleP99: number;
	readonly busyP99: number;
	/** Of the stores that stayed reachable, one list each. */
	readonly reachable: readonly (readonly Fate[])[];
	/** Seconds from the unreachable store's return to the first revocation there, and to the last. NaN when none was away. */
	readonly firstAfterReturnS: number;
	readonly lastAfterReturnS: number;
}

async function leasesDue(): Promise<Result> {
	const redis = await Promise.all(Array.from({ length: TARGETS }, startRedis));
	const last = redis.at(-1);
	if (last === undefined) throw new Error("there is no store");
	const proxy = await startProxy(last.port);
	const ledger = await makeLedger([...redis.slice(0, -1), { ...last, address: proxy.address }]);
	const stores: Stores = { ledger, redis, proxy, look: lookInto(ledger), next: 0 };
	const alone: Wave[] = [];
	const meanwhile: Wave[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		alone.push(await expire(stores, TARGETS - 1, { count: LEASES, spanMs: DUE_WITHIN_MS }));
		meanwhile.push(await expire(stores, TARGETS, { count: LEASES, spanMs: DUE_WITHIN_MS }));
	}
	const trickle = await expire(stores, TARGETS, { count: TRICKLE, spanMs: TRICKLE_MS });
	stores.look.close();
	const left = await Promise.all(redis.map(({ users }) => users()));
	if (left.flat().length !== TARGETS) throw new Error("users are left whose leases are closed");
	await Promise.all([proxy.stop(), ...redis.map((store) => store.stop())]);
	return {
		findings: [...judgeDrain(alone, meanwhile), ...judgeTrickle(trickle), ...judgeReturn([...meanwhile, trickle])],
	};
}

/** Lets leases expire at the first targets, or at all targets: then the last one is away from before the first is due until the others are done. */
async function expire(
	stores: Stores,
	targets: number,
	{ count, spanMs }: { count: number; spanMs: number },
): Promise<Wave> {
	const { ledger, look, proxy } = stores;
	const leases = ledger.leases.slice(0, targets);
	const [reachable, isAway] = [leases.slice(0, TARGETS - 1), targets === TARGETS];
	const fromMs = Date.now() + LEAD_MS;
	const copies: Copies = { leases, from: stores.next, count, due: { fromMs, spanMs } };
	stores.next += count;
	await Promise.all(stores.redis.slice(0, targets).map((store) => addUsers(store, copies)));
	await copyLeases(ledger, copies);
	const server = await startSvc({ protocol: "http", data: ledger.directory });
	const { url } = server;
	await pacedLatencies(url, ledger.read, WARM_UP);
	const idle = await pacedLatencies(url, ledger.read, PACE);
	if (Date.now() > fromMs) throw new Error("the machine is too slow: leases were due before the idle reads ended");
	if (isAway) proxy.blackhole();
	await wait(fromMs - Date.now());
	const busy = await readUntil(url, ledger.read, isDone(look, reachable));
	const returnedMs = Date.now();
	proxy.restore();
	await isDone(look, leases);
	await server.stop();
	const fates = look.fates(copies);
	const at = (lease: string) => fates.filter(({ original }) => lease.startsWith(original));
	const afterReturn = leases
		.slice(TARGETS - 1)
		.flatMap(at)
		.map(({ closedMs = Number.NaN }) => (closedMs - returnedMs) / 1000);
	return {
		idleP99: quantile(idle, 0.99),
		busyP99: quantile(busy, 0.99),
		reachable: reachable.map(at),
		firstAfterReturnS: quantile(afterReturn, 0),
		lastAfterReturnS: quantile(afterReturn, 1),
	};
}

/** The users of the copies, which may do nothing. */
async function addUsers(redis: Redis, { from, count }: Copies): Promise<void> {
	const session = await redis.login("default", redis.password);
	const numbers = Array.from({ length: count }, (_, at) => from + at);
	await Promise.all(numbers.map((number) => session.send("ACL", "SETUSER", copiedName(number), "on")));
	session.end();
}

async function readUntil(url: string, read: Ledger["read"], done: Promise<void>): Promise<number[]> {
	let isOver = false;
	const over = done.finally(() => {
		isOver = true;
	});
	const [latencies] = await Promise.all([pacedLatenciesUntil(url, read, PACE, () => isOver), over]);
	return latencies;
}

/** Waits until no lease but the copied one is open at any of these targets. @throws Error after two minutes */
async function isDone(look: Look, leases: readonly string[]): Promise<void> {
	const end = performance.now() + PATIENCE_MS;
	while (look.countOpen(leases) > leases.length) {
		if (performance.now() > end) throw new Error("leases that are due are not revoked within two minutes");
		await wait(POLL_MS);
	}
}

/** Seconds from the first due lease of a target until all are revoked. */
function drainS(fates: readonly Fate[]): number {
	const closed = fates.map(({ closedMs = Number.NaN }) => closedMs);
	return (
		(quantile(closed, 1) -
			quantile(
				fates.map(({ dueMs }) => dueMs),
				0,
			)) /
		1000
	);
}

function judgeDrain(alone: readonly Wave[], meanwhile: readonly Wave[]): Finding[] {
	const slowest = ({ reachable }: Wave) => Math.max(...reachable.map(drainS));
	const isolation = meanwhile.map((wave, round) => slowest(wave) / slowest(alone[round] ?? wave));
	const p99Ratio = (waves: readonly Wave[]) => median(waves.map(({ busyP99, idleP99 }) => busyP99 / idleP99));
	const others = `${TARGETS - 1} reachable targets`;
	return [
		{
			measure: `time to drain the ${others}, to that without the other one`,
			value: median(isolation),
			unit: "ratio",
			target: { atMost: MAX_SLOWDOWN },
		},
		{ measure: "p99 of reads to idle", value: p99Ratio(meanwhile), unit: "ratio", target: { atMost: MAX_P99_RATIO } },
		{ measure: "p99 of reads to idle, without the unreachable target", value: p99Ratio(alone), unit: "ratio" },
		{ measure: "p99 of reads, idle", value: median(meanwhile.map(({ idleP99 }) => idleP99)), unit: "ms" },
		{ measure: "p99 of reads, during the drain", value: median(meanwhile.map(({ busyP99 }) => busyP99)), unit: "ms" },
		...Array.from({ length: TARGETS - 1 }, (_, at): Finding => {
			const times = meanwhile.map(({ reachable }) => drainS(reachable[at] ?? []));
			return { measure: `${LEASES} leases of target ${at + 1} drained`, value: median(times), unit: "s" };
		}),
		{ measure: `slowest of the ${others} without the other one`, value: median(alone.map(slowest)), unit: "s" },
		{
			measure: `revocations at the ${others}`,
			value: median(meanwhile.map((wave) => ((TARGETS - 1) * LEASES) / slowest(wave))),
			unit: "per second",
		},
	];
}

/** Delay of revocations at the reachable targets, for a few leases at a time. */
function judgeTrickle({ reachable }: Wave): Finding[] {
	const fates = reachable.flat();
	const late = (at: (fate: Fate) => number | undefined) =>
		fates.map((fate) => ((at(fate) ?? Number.POSITIVE_INFINITY) - fate.dueMs) / 1000);
	const begun = late(({ begunMs }) => begunMs);
	const rate = `${(TARGETS * TRICKLE * 1000) / TRICKLE_MS} a second expire`;
	return [
		{
			measure: `latest begin of a revocation while ${rate}`,
			value: quantile(begun, 1),
			unit: "s",
			target: { atMost: MAX_LAG_S },
		},
		{ measure: `p50 of the begins while ${rate}`, value: median(begun), unit: "s" },
		{
			measure: `latest end while ${rate}`,
			value: quantile(
				late(({ closedMs }) => closedMs),
				1,
			),
			unit: "s",
		},
	];
}

function judgeReturn(waves: readonly Wave[]): Finding[] {
	const latest = (seconds: (wave: Wave) => number) => Math.max(...waves.map(seconds));
	return [
		{
			measure: "first revocation after the target's return",
			value: latest(({ firstAfterReturnS }) => firstAfterReturnS),
			unit: "s",
			target: { atMost: MAX_RETURN_S },
		},
		{
			measure: `last of ${LEASES} after the target's return`,
			value: latest(({ lastAfterReturnS }) => lastAfterReturnS),
			unit: "s",
		},
	];
}
