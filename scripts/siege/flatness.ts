import { setTimeout as wait } from "node:timers/promises";
import { readMemory } from "../../test/siege/readings.ts";
import { MOST_MB, type Needs, startAttackers, targetOf } from "./besiege.ts";

const ATTACKS = 4;
const ATTACK_MS = 8000;
/** Milliseconds until freed memory is free. */
const REST_MS = 4000;

/** Attacks one server repeatedly. Returns its memory after each attack, MB; fewer figures when it had to be killed. */
export async function measureFlatness(needs: Needs, attacks: readonly string[]): Promise<number[]> {
	const server = await needs.scene.start();
	const watched = needs.guard.watch(server.pid, MOST_MB.server);
	const after: number[] = [];
	while (after.length < ATTACKS) {
		const attackers = await startAttackers(needs, targetOf(needs, server.port), attacks);
		for (const attacker of attackers) attacker.attack();
		await wait(ATTACK_MS);
		await Promise.all(attackers.map((attacker) => attacker.leave()));
		await wait(REST_MS);
		if (watched.wasKilled()) break;
		after.push(readMemory(server.pid).nowMb);
	}
	watched.leave();
	await server.run.kill("SIGKILL");
	await server.remove();
	return after;
}

/** Tells whether the last of equal attacks took about as much as the one before. Design: §13. */
export function isFlat(after: readonly number[]): boolean {
	const [third = Number.NaN, fourth = Number.NaN] = after.slice(2);
	return fourth <= 1.1 * third;
}
