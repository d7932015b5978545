/** Lets a loop sleep until another part wakes it. */
export interface Wakeup {
	/** Wakes the loop, or keeps it from falling asleep. */
	wake(): void;
	/** Tells whether it was woken since the last `clear`. */
	isPending(): boolean;
	/** Forgets past calls of `wake`. */
	clear(): void;
	/** Sleeps until it is woken, at most that many milliseconds; not at all if a call of `wake` is pending. */
	sleep(longest_ms: number): Promise<void>;
}

/** Makes a wakeup with no pending call. */
export function createWakeup(): Wakeup {
	let isPending = false;
	let resume = () => {};
	return {
		wake() {
			isPending = true;
			resume();
		},
		isPending: () => isPending,
		clear() {
			isPending = false;
		},
		async sleep(longest_ms) {
			if (isPending) return;
			let timer: NodeJS.Timeout | undefined;
			await new Promise<void>((resolve) => {
				resume = resolve;
				timer = setTimeout(resolve, longest_ms);
			});
			clearTimeout(timer);
		},
	};
}
