import { AppError } from "../errors.ts";
import { createGate, type Gate } from "../gate.ts";

const BUSY = "too many passwords are being checked, try again in a moment";

/**
 * Lets `width` tasks run at once and `queue` more wait, in the order they came.
 * The gate throws AppError unhealthy when the queue is full.
 */
export function createPasswordGate(width: number, queue: number): Gate {
	const gate = createGate(width);
	let admitted = 0;
	return async (task) => {
		if (admitted >= width + queue) throw new AppError("unhealthy", BUSY, { headers: { "Retry-After": "1" } });
		admitted++;
		try {
			return await gate(task);
		} finally {
			admitted--;
		}
	};
}
