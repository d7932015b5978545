import { createGate } from "../../../gate.ts";
import { TargetError } from "../connector.ts";

/**
 * Makes the function that takes one of `count` slots, or queues while all are taken.
 * @returns a function that waits for a slot and returns the function to free it; freeing it twice is harmless
 * @throws TargetError unreachable after `wait_ms`
 */
export function createSlots(count: number, wait_ms: number): () => Promise<() => void> {
	const gate = createGate(count);
	return () => {
		const taken = Promise.withResolvers<() => void>();
		let isLate = false;
		const timer = setTimeout(() => {
			isLate = true;
			taken.reject(new TargetError("unreachable", "the target is slow: too many credentials are being made there"));
		}, wait_ms);
		void gate(async () => {
			clearTimeout(timer);
			if (isLate) return;
			const left = Promise.withResolvers<void>();
			taken.resolve(left.resolve);
			await left.promise;
		});
		return taken.promise;
	};
}
