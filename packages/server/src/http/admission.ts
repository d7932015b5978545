import type { IncomingMessage, ServerResponse } from "node:http";
import type { AppError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { REFUSAL_MS, setPlace } from "../place.ts";
import { createSourceReader, sourceGroup } from "../source.ts";
import type { NewHeaders } from "./headers.ts";
import type { Handle } from "./lane.ts";
import { answerHostless } from "./malformed.ts";
import { type Turn, type TurnLimits, Turns } from "./turns.ts";

/** Requests handled and waiting at a time. Group commit needs company: half as many places cost a third of the throughput. Design: §13 */
export const LIMITS = { places: 32, waiting: 64, late: 1024, late_ms: 100, turn_ms: 8 } as const;

/** Requests of a monitor have places of their own: a flood of them delays only itself. */
const MONITORED = /^\/(?:api\/v1\/health|metrics)(?:\?|$)/;
const MONITOR_PLACES = 4;

/** Carries a request to the app, and its answer back. */
export type Carry = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** The way of each request into the server. */
export interface Admission {
	/** Carries a request when its turn comes, or refuses it. */
	handle: Handle;
	/** Sets the code that carries requests; they wait until it is loaded. */
	carryWith(loading: Promise<Carry>): void;
}

/** Makes the admission, and adds its limits to `limits`. @param bounds changed by tests only */
export function createAdmission(
	needs: { newHeaders: NewHeaders; limits: Pick<Limits, "add"> },
	trusted_proxies: readonly string[],
	bounds: TurnLimits = LIMITS,
): Admission {
	const sourceOf = createSourceReader(trusted_proxies);
	const turns = new Turns(bounds);
	const monitors = new Turns({ ...bounds, places: MONITOR_PLACES });
	const watch = createWatch();
	addLimits(needs.limits, turns);
	let carry: Carry;
	return {
		handle(incoming, outgoing) {
			if (incoming.headers.host === undefined && incoming.httpVersion !== "1.0")
				return answerHostless(outgoing, needs.newHeaders);
			const ring = MONITORED.test(incoming.url ?? "") ? monitors : turns;
			const begin = (turn: Turn) => {
				setPlace(incoming, turn);
				void carry(incoming, outgoing).then(() => watch(turn, outgoing));
			};
			try {
				const turn = ring.enter(sourceGroup(sourceOf(incoming)), begin);
				return () => turn.end();
			} catch (error) {
				return refuse(outgoing, needs.newHeaders, error as AppError);
			}
		},
		carryWith(loading) {
			carry = async (...exchange) => (await loading)(...exchange);
			void loading.then((loaded) => {
				carry = loaded;
			});
		},
	};
}

/** Makes the function that frees a request's place when its answer is not sent by the next turn of the event loop, but waits for its reader. */
function createWatch(): (turn: Turn, outgoing: ServerResponse) => void {
	let answered: [turn: Turn, outgoing: ServerResponse][] = [];
	const look = () => {
		const watched = answered;
		answered = [];
		for (const [turn, { closed }] of watched) if (!closed) turn.leave();
	};
	return (turn, outgoing) => {
		if (outgoing.closed) return;
		if (answered.length === 0) setImmediate(look);
		answered.push([turn, outgoing]);
	};
}

function refuse(outgoing: ServerResponse, newHeaders: NewHeaders, error: AppError): () => void {
	const body = JSON.stringify(error);
	const length = { "content-length": String(Buffer.byteLength(body)) };
	const answer = () => outgoing.writeHead(error.status, { ...newHeaders(), ...error.headers, ...length }).end(body);
	const timer = setTimeout(answer, REFUSAL_MS);
	return () => clearTimeout(timer);
}

function addLimits({ add }: Pick<Limits, "add">, turns: Turns): void {
	const { places, waiting, late } = turns.limits;
	add({
		name: "requests",
		max: places,
		used: () => turns.count().held,
		hint: "requests are queueing: find the source that sends so many, or give the server more processors",
	});
	add({
		name: "requests_waiting_per_source",
		max: waiting,
		used: () => turns.count().waiting,
		refused: () => turns.refused.waiting,
		hint: "one source sends more than its share: if it is your proxy, add it to trusted_proxies, so that clients are counted separately",
	});
	add({
		name: "requests_waiting_for_commits",
		max: late,
		used: () => turns.count().late,
		refused: () => turns.refused.late,
		hint: "commits are slow: use a faster disk",
	});
}
