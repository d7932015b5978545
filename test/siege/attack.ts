/** What an attacker is told of the server that it attacks. */
export interface Target {
	readonly host: string;
	readonly port: number;
	/** Whether it is the bare server, which answers everything alike and where nothing can be prepared. */
	readonly isBare: boolean;
	/** First two bytes of the addresses on loopback that the attacker comes from, such as `127.66`. */
	readonly network: string;
	/** Part of its strength that an attack uses, from 0 to 1. */
	readonly strength: number;
	/** What an ordinary account has: its token, the realm that it filled, and a secret there. */
	readonly token: string;
	readonly slug: string;
	readonly key: string;
	/** Token of the instance admin, for what is prepared. */
	readonly admin: string;
}

/** What happened to an attacker, by words such as `opened` or the status of an answer. */
export class Counts {
	readonly #counts = new Map<string, number>();

	/** Counts one more. */
	add(what: string | number, by = 1): void {
		this.#counts.set(String(what), (this.#counts.get(String(what)) ?? 0) + by);
	}

	/** All of them, as they are sent to whoever started the attacker. */
	toJSON(): Record<string, number> {
		return Object.fromEntries([...this.#counts].sort(([a], [b]) => a.localeCompare(b)));
	}
}

/** One way to wear the server out. It is bounded in what it opens and holds, and works until it is told that its time is over. */
export interface Attack {
	/** What `--only` takes. */
	readonly name: string;
	/** What the table says. */
	readonly title: string;
	/** Whether the server has to free what it holds even if the attacker never closes anything. */
	readonly isCutOff?: true;
	/** Does what belongs to the scene and not to the attack, also what the server begins once and keeps: threads, processes. */
	prepare?(target: Target): Promise<void>;
	/** Attacks until `over`; the connections that are open then stay so until the attacker's process ends. */
	run(target: Target, counts: Counts, over: AbortSignal): Promise<void>;
}

/** A source of an attacker; each is an address of its own. */
export function sourceOf({ network }: Target, at: number): string {
	return `${network}.${Math.floor(at / 250)}.${(at % 250) + 1}`;
}

/** So many at full strength, and at least one. */
export function scaled({ strength }: Target, atFullStrength: number): number {
	return Math.max(1, Math.round(atFullStrength * strength));
}
