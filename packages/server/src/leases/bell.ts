/** Lets one loop sleep until it is woken. */
export interface Bell {
	/** Wakes the loop, or keeps it from falling asleep. */
	ring(): void;
	/** Tells whether it rang since the last `answer`. */
	hasRung(): boolean;
	/** Clears past rings. */
	answer(): void;
	/** Sleeps until it rings, at most that many milliseconds; not at all if it has rung. */
	sleep(longest_ms: number): Promise<void>;
}

/** Makes a bell that has not rung. */
export function createBell(): Bell {
	let rings = 0;
	let wake = () => {};
	return {
		ring() {
			rings++;
			wake();
		},
		hasRung: () => rings > 0,
		answer() {
			rings = 0;
		},
		async sleep(longest_ms) {
			if (rings > 0) return;
			let timer: NodeJS.Timeout | undefined;
			await new Promise<void>((resolve) => {
				wake = resolve;
				timer = setTimeout(resolve, longest_ms);
			});
			clearTimeout(timer);
		},
	};
}
