import { TargetError } from "./connector.ts";

/**
 * Makes the function that takes one of `count` places, and waits in line while all are taken.
 * @returns gives the function that leaves the place again; it may be called more than once
 * @throws TargetError unreachable after `wait_ms`
 */
export function createPlaces(count: number, wait_ms: number): () => Promise<() => void> {
	const waiting: (() => void)[] = [];
	let free = count;

	const leave = () => {
		// Whoever waits longest takes over this place, so `free` stays as it is.
		const next = waiting.shift();
		if (next === undefined) free++;
		else next();
	};
	const waitInLine = () =>
		new Promise<void>((resolve, reject) => {
			const timer = setTimeout(() => {
				waiting.splice(waiting.indexOf(enter), 1);
				reject(new TargetError("unreachable", "the target is slow: too many credentials are being made there"));
			}, wait_ms);
			const enter = () => {
				clearTimeout(timer);
				resolve();
			};
			waiting.push(enter);
		});

	return async () => {
		if (free > 0) free--;
		else await waitInLine();
		let hasLeft = false;
		return () => {
			if (!hasLeft) leave();
			hasLeft = true;
		};
	};
}
