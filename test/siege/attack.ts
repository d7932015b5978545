/** The server under attack, as the attacker knows it. */
export interface Target {
	readonly host: string;
	readonly port: number;
	/** Tells whether it is the bare server, which answers all requests alike and needs no preparation. */
	readonly isBare: boolean;
	/** First two bytes of the attacker's loopback addresses, such as `127.66`. */
	readonly network: string;
	/** Part of its strength that an attack uses, from 0 to 1. */
	readonly strength: number;
	/** An ordinary account's means: its token, the realm that it filled, and a secret there. */
	readonly token: string;
	readonly slug: string;
	readonly key: string;
	/** A session of that account, which changes of machines take, and the cookie of another in the console. */
	readonly session: string;
	readonly cookie: string;
	/** Token of the instance admin, for preparations. */
	readonly admin: string;
}

/** Counts of what happened to an attacker, by words such as `opened` or the status of an answer. */
export class Counts {
	readonly #counts = new Map<string, number>();

	/** Adds to a count. */
	add(what: string | number, by = 1): void {
		this.#counts.set(String(what), (this.#counts.get(String(what)) ?? 0) + by);
	}

	/** Returns all counts, as sent to the process that started the attacker. */
	toJSON(): Record<string, number> {
		return Object.fromEntries([...this.#counts].sort(([a], [b]) => a.localeCompare(b)));
	}
}

/** One way to wear the server out. It limits what it opens and holds, and works until its time is over. */
export interface Attack {
	/** Value for `--only`. */
	readonly name: string;
	/** Title in the table. */
	readonly title: string;
	/** Set when the server must free what it holds even if the attacker never closes anything. */
	readonly isCutOff?: true;
	/** Set when the ordinary client's request must need what the attack wears out: the thread that reads the log. */
	readonly isAskedOfLog?: true;
	/** Prepares the scene before the attack; this includes what the server starts once and keeps: threads, processes. */
	prepare?(target: Target): Promise<void>;
	/** Attacks until `over`; connections open at that time stay open until the attacker's process ends. */
	run(target: Target, counts: Counts, over: AbortSignal): Promise<void>;
}

/** Returns a source of an attacker; each has its own address. */
export function sourceOf({ network }: Target, at: number): string {
	return `${network}.${Math.floor(at / 250)}.${(at % 250) + 1}`;
}

/** Scales a number to the attack's strength; at least one. */
export function scaled({ strength }: Target, atFullStrength: number): number {
	return Math.max(1, Math.round(atFullStrength * strength));
}
