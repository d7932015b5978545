import type { Check } from "./model.ts";

/** Findings of the doctor, and their time. */
export interface Examination {
	/** ISO 8601 UTC. */
	at: string;
	checks: readonly Check[];
}

/** Remembers the doctor's last examination until the server ends, so that other answers do not contradict it. */
export interface Findings {
	last(): Examination | undefined;
	note(examination: Examination): void;
}

/** Makes the memory, empty. */
export function createFindings(): Findings {
	let last: Examination | undefined;
	const note = (examination: Examination) => {
		last = examination;
	};
	return { last: () => last, note };
}
