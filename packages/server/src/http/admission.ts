import type { IncomingMessage, ServerResponse } from "node:http";
import type { AppError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { REFUSAL_MS, setSlot } from "../request-slot.ts";
import { createSourceReader, sourceGroup } from "../source.ts";
import type { NewHeaders } from "./headers.ts";
import { answerHostless } from "./malformed.ts";
import type { Handle } from "./pipeline.ts";
import { type QueuedRequest, type QueueLimits, RequestQueue } from "./request-queue.ts";

/** Requests handled and waiting at a time. Group commit needs company: half as many slots cost a third of the throughput. Design: §13 */
export const LIMITS = { slots: 32, waiting: 64, late: 1024, late_ms: 100, turn_ms: 8 } as const;

/** Requests of a monitor have slots of their own: a flood of them delays only itself. */
const MONITORED = /^\/(?:api\/v1\/health|metrics)(?:\?|$)/;
const MONITOR_SLOTS = 4;

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
	bounds: QueueLimits = LIMITS,
): Admission {
	const sourceOf = createSourceReader(trusted_proxies);
	const requests = new RequestQueue(bounds);
	const monitors = new RequestQueue({ ...bounds, slots: MONITOR_SLOTS });
	const watch = createWatch();
	addLimits(needs.limits, requests, monitors);
	let carry: Carry;
	return {
		handle(incoming, outgoing) {
			if (incoming.headers.host === undefined && incoming.httpVersion !== "1.0")
				return answerHostless(outgoing, needs.newHeaders);
			const queue = MONITORED.test(incoming.url ?? "") ? monitors : requests;
			const begin = (request: QueuedRequest) => {
				setSlot(incoming, request);
				void carry(incoming, outgoing).then(() => watch(request, outgoing));
			};
			let cancel = () => {};
			const turnAway = (error: AppError) => {
				cancel = refuse(outgoing, needs.newHeaders, error);
			};
			try {
				const request = queue.enter(sourceGroup(sourceOf(incoming)), begin, turnAway);
				return () => {
					request.end();
					cancel();
				};
			} catch (error) {
				turnAway(error as AppError);
				return cancel;
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

/** Makes the function that frees a request's slot when its answer is not sent by the next turn of the event loop, but waits for its reader. */
function createWatch(): (request: QueuedRequest, outgoing: ServerResponse) => void {
	let answered: [request: QueuedRequest, outgoing: ServerResponse][] = [];
	const releaseUnread = () => {
		const watched = answered;
		answered = [];
		for (const [request, { closed }] of watched) if (!closed) request.release();
	};
	return (request, outgoing) => {
		if (outgoing.closed) return;
		if (answered.length === 0) setImmediate(releaseUnread);
		answered.push([request, outgoing]);
	};
}

function refuse(outgoing: ServerResponse, newHeaders: NewHeaders, error: AppError): () => void {
	const body = JSON.stringify(error);
	const length = { "content-length": String(Buffer.byteLength(body)) };
	const answer = () => outgoing.writeHead(error.status, { ...newHeaders(), ...error.headers, ...length }).end(body);
	const timer = setTimeout(answer, REFUSAL_MS);
	return () => clearTimeout(timer);
}

/** Adds the limits. Those on waiting are of each queue: the use of the fuller one shows, and the refusals of both. */
function addLimits({ add }: Pick<Limits, "add">, requests: RequestQueue, monitors: RequestQueue): void {
	const { slots, waiting, late } = requests.limits;
	const used = (what: "waiting" | "late") => () => Math.max(requests.count()[what], monitors.count()[what]);
	const refused = (what: "waiting" | "late") => () => requests.refused[what] + monitors.refused[what];
	add({
		name: "requests",
		max: slots,
		used: () => requests.count().held,
		hint: "requests are queueing: find the source that sends so many, or give the server more processors",
	});
	add({
		name: "requests_waiting_per_source",
		max: waiting,
		used: used("waiting"),
		refused: refused("waiting"),
		hint: "one source sends more than its share: if it is your proxy, add it to trusted_proxies, so that clients are counted separately",
	});
	add({
		name: "requests_waiting_for_commits",
		max: late,
		used: used("late"),
		refused: refused("late"),
		hint: "commits are slow: use a faster disk",
	});
}
