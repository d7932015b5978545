import { readMemory } from "./readings.ts";

const LOOK_MS = 50;

/** Kills processes that use too much of the machine. */
export interface Guard {
	/** Watches a process. */
	watch(pid: number, mostMb: number): Watched;
	stop(): void;
}

/** A watched process. */
export interface Watched {
	wasKilled(): boolean;
	/** Returns the most memory seen. */
	peakMb(): number;
	/** Stops watching: the id may soon belong to another process. */
	leave(): void;
}

/** Starts a guard that looks every 50 ms: data waiting to be written fills the machine within seconds. */
export function startGuard(): Guard {
	const watched = new Map<number, { mostMb: number; peakMb: number; wasKilled: boolean }>();
	const look = () => {
		for (const [pid, one] of watched) {
			const { nowMb } = readMemory(pid);
			one.peakMb = Math.max(one.peakMb, nowMb || 0);
			if (one.peakMb <= one.mostMb) continue;
			one.wasKilled = true;
			watched.delete(pid);
			process.kill(pid, "SIGKILL");
		}
	};
	const timer = setInterval(look, LOOK_MS);
	return {
		watch(pid, mostMb) {
			const one = { mostMb, peakMb: 0, wasKilled: false };
			watched.set(pid, one);
			return { wasKilled: () => one.wasKilled, peakMb: () => one.peakMb, leave: () => void watched.delete(pid) };
		},
		stop: () => clearInterval(timer),
	};
}
