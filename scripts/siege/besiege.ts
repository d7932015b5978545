import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Target } from "../../test/siege/attack.ts";
import { attackNamed } from "../../test/siege/attacks.ts";
import { type Attacker, startAttacker } from "../../test/siege/child.ts";
import type { Guard } from "../../test/siege/guard.ts";
import { forgetPeak, type Held, readHeld, readMemory, readMetrics } from "../../test/siege/readings.ts";
import type { Besieged, Scene } from "../../test/siege/scene.ts";
import { startBare } from "../bench/bare.ts";
import type { Run } from "./result.ts";
import { type Asking, watch } from "./watching.ts";

/** Duration of each part. */
interface Times {
	/** Windows while the attackers work on the bare server, and on ours. */
	readonly idleWindows: number;
	readonly windows: number;
	readonly windowMs: number;
	/** Time from the attackers' last new action to their leaving: longer than the server keeps anything open. */
	readonly lingerMs: number;
	/** Time from their leaving to the check for leftovers. */
	readonly restMs: number;
}

/** Needs of a siege. */
export interface Needs {
	readonly scene: Scene;
	readonly guard: Guard;
	readonly times: Times;
}

/** An attack whose noisy part is over. */
export interface Resting {
	/** Settles when the attackers have left and the rest after it has passed. */
	readonly rested: Promise<unknown>;
	/** Attacks once more, ends the server meanwhile, and returns the whole run. Call it after the rest, when nothing else is measured. */
	finish(): Promise<Run>;
}

/** Most memory of each process. */
export const MOST_MB = { server: 4096, attacker: 2048 } as const;
const WARM_UP_MS = 2000;
const FINALE_MS = 3000;
const END_MS = 10_000;
const AGAIN_MS = 2000;

/** Attacks a bare server, then ours, each attacker in its own process and from its own addresses. Ours stays, and rests. */
export async function besiege(needs: Needs, attacks: readonly string[]): Promise<Resting> {
	const at = new Date().toISOString();
	const server = await needs.scene.start();
	const watched = needs.guard.watch(server.pid, MOST_MB.server);
	const asked = attacks.some((name) => attackNamed(name).isAskedOfLog) ? needs.scene.askedOfLog : needs.scene.asked;
	const asking = { ...asked, url: server.run.url, windowMs: needs.times.windowMs };
	const idle = await attackBare(needs, server, attacks, asking);
	await watch({ ...asking, windows: 1, windowMs: WARM_UP_MS });
	const attackers = await startAttackers(needs, targetOf(needs, server.port), attacks);
	const before = await readHeld(server);
	const memory_idle_mb = readMemory(server.pid).nowMb;
	forgetPeak(server.pid);
	for (const attacker of attackers) attacker.attack();
	const attacked = await watch({ ...asking, windows: needs.times.windows });
	const peak = readMemory(server.pid).peakMb;
	const memory_peak_mb = Number.isNaN(peak) ? watched.peakMb() : peak;
	const longest_turn_ms = await turnOf(server);
	const counts = await Promise.all(attackers.map((attacker) => attacker.hold()));
	const rested = rest(needs.times, server, attackers, before);
	return {
		rested,
		async finish() {
			const { held, left } = await rested;
			const end = watched.wasKilled() ? null : await finale(needs, server, attacks);
			watched.leave();
			await server.remove();
			const was_killed = watched.wasKilled();
			return {
				at,
				idle,
				attacked,
				memory_idle_mb,
				memory_peak_mb,
				longest_turn_ms,
				held,
				left,
				end,
				was_killed,
				counts,
			};
		},
	};
}

/** The capacity that attackers leave of the machine: the same work, aimed at a server that only gives the answers of ours. */
async function attackBare(needs: Needs, ours: Besieged, attacks: readonly string[], asking: Omit<Asking, "windows">) {
	const read = (name: string): string => readFileSync(join(ours.data, name), "utf8");
	const tls = { cert: read("tls.crt"), key: read("tls.key") };
	const bare = await startBare({ url: ours.run.url, tls }, { method: "GET", path: asking.path, token: asking.token });
	const target = { ...targetOf(needs, Number(new URL(bare.url).port)), isBare: true };
	const attackers = await startAttackers(needs, target, attacks);
	try {
		for (const attacker of attackers) attacker.attack();
		return await watch({ ...asking, url: bare.url, windows: needs.times.idleWindows });
	} finally {
		await Promise.all(attackers.map((attacker) => attacker.leave()));
		await bare.stop();
	}
}

/** The attackers' information about one of our servers, or a bare one. */
export function targetOf({ scene }: Needs, port: number): Omit<Target, "network"> {
	return { ...scene.known, host: "127.0.0.1", port, isBare: false, strength: 1 };
}

/** Starts an attacker for each attack, each on its own network. They wait. */
export function startAttackers({ guard, times }: Needs, target: Omit<Target, "network">, attacks: readonly string[]) {
	const lifeMs = 2 * ((times.windows + times.idleWindows) * times.windowMs + times.lingerMs) + 60_000;
	return Promise.all(
		attacks.map(async (attack, at) => {
			const attacker = await startAttacker({ attack, target: { ...target, network: `127.${66 + at}` }, lifeMs });
			guard.watch(attacker.pid, MOST_MB.attacker);
			return attacker;
		}),
	);
}

/** The longest turn since the previous call; null when the server does not say, in time or at all. */
async function turnOf(server: Besieged): Promise<number | null> {
	const said = await readMetrics(server).catch(() => undefined);
	return said?.longestTurnMs ?? null;
}

/** Lets the attackers hold what they have, then leave. */
async function rest(times: Times, server: Besieged, attackers: readonly Attacker[], before: Held) {
	const since = async () => {
		const now = await readHeld(server).catch(() => undefined);
		return now === undefined ? null : beyond(now, before);
	};
	await wait(times.lingerMs);
	const held = await since();
	await Promise.all(attackers.map((attacker) => attacker.leave()));
	await wait(times.restMs);
	const left = await since();
	// A momentary thing, such as the end of a connection that asked for metrics, is no leftover.
	if (left === null || Object.values({ ...left, ...left.limits }).every((count) => !(Number(count) > 0)))
		return { held, left };
	await wait(AGAIN_MS);
	return { held, left: await since() };
}

function beyond(now: Held, before: Held): Held {
	const limits = Object.entries(now.limits).map(([name, used]) => [name, used - (before.limits[name] ?? 0)]);
	return {
		descriptors: now.descriptors - before.descriptors,
		established: now.established - before.established,
		close_wait: now.close_wait - before.close_wait,
		fin_wait2: now.fin_wait2 - before.fin_wait2,
		limits: Object.fromEntries(limits),
	};
}

/** Ends the server during an attack. */
async function finale(needs: Needs, server: Besieged, attacks: readonly string[]): Promise<Run["end"]> {
	const attackers = await startAttackers(needs, targetOf(needs, server.port), attacks);
	for (const attacker of attackers) attacker.attack();
	await wait(FINALE_MS);
	const late = setTimeout(() => server.run.kill("SIGKILL"), END_MS);
	const started = performance.now();
	const { code } = await server.run.kill("SIGTERM");
	const ms = Math.round(performance.now() - started);
	clearTimeout(late);
	await Promise.all(attackers.map((attacker) => attacker.leave()));
	return { ms, code };
}
