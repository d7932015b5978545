import { readMemory } from "./readings.ts";

const LOOK_MS = 50;

/** Kills processes that take too much of the machine. */
export interface Guard {
	/** Watches a process. */
	watch(pid: number, mostMb: number): Watched;
	stop(): void;
}

/** A process that is watched. */
export interface Watched {
	wasKilled(): boolean;
	/** The most memory that it was seen with. */
	peakMb(): number;
	/** No longer watches it: its id may soon be another's. */
	leave(): void;
}

/** Looks every 50 ms: what waits to be written fills the machine within seconds. */
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
