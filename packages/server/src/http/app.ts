import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { type Router, UnsupportedPathError } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { AppError, LimitReached } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Actor } from "../policy/model.ts";
import { slotOfRequest, withSlot } from "../request-slot.ts";
import { keysOf } from "../semaphore.ts";
import { createSourceReader, keysOfSource, sourceGroup } from "../source.ts";
import { Streamed } from "../streamed.ts";
import { loadAlreadySent } from "./already-sent.ts";
import { type Answers, SMALL_CHARS } from "./answers.ts";
import { type Bodies, isHere, MAX_BODY_BYTES } from "./bodies.ts";
import type { Recipient } from "./budget.ts";
import type { AnswerHeaders, NewHeaders } from "./headers.ts";
import { check, createQueryReader, isOdd, type QueryReader, readForm, readJson } from "./input.ts";
import { isForPages, type PageRequest, type Pages } from "./pages.ts";
import type { Call, Identify, Route } from "./route.ts";

/** Dependencies of the app. */
export interface AppNeeds {
	log: Log;
	metrics: {
		/** Notes an answered request. @param route the route's pattern @param seconds time to answer */
		answered(method: string, route: string, status: number, seconds: number): void;
	};
	newHeaders: NewHeaders;
	answers: Answers;
	bodies: Bodies;
	limits: Pick<Limits, "refuse">;
	trusted_proxies: readonly string[];
	identify: Identify;
	/** Tells whether another program altered the database, which is then not trusted. */
	isAltered(): boolean;
	/** Learns what other servers have changed before a request is answered; undefined where there are none. */
	keepUp?: (() => Promise<void>) | undefined;
	/** The console; undefined where it is off. */
	pages?: Pages | undefined;
}

type Env = { Bindings: HttpBindings };
type App = Hono<Env>;

const EMPTY = Object.freeze({});

const ODD =
	"this path does not exist: . and .. segments and backslashes are not resolved, and no name has U+0000; percent-encode a key";

/**
 * Mounts the routes. Each checks the token first, then query and body, then runs the rule; one function makes every answer and every error.
 * Spec: API. Design: §7.
 */
export function createApp(needs: AppNeeds, routes: readonly Route[]): App {
	const app = new Hono<Env>({ strict: true, router: createRouter() });
	const sourceOf = createSourceReader(needs.trusted_proxies);
	for (const route of routes) {
		const readQuery = createQueryReader(route.query);
		const parts = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
		app.on(route.method, route.path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
			const started = performance.now();
			const headers = needs.newHeaders();
			const request: Request = {
				c,
				headers,
				request_id: headers["x-request-id"],
				ip: sourceOf(c.env.incoming),
				readQuery,
				parts,
			};
			let response: Response;
			try {
				response = await answer(needs, request, route);
			} catch (error) {
				// Without those that the route has set, such as the length of a file that there is no room for.
				const own = { ...needs.newHeaders(), "x-request-id": request.request_id };
				response = fail(needs, { c, headers: own }, error, route);
			}
			needs.metrics.answered(route.method, route.path, response.status, (performance.now() - started) / 1000);
			return response;
		});
	}
	const unrouted = (c: Context<Env>, error: unknown) =>
		fail(needs, { c, headers: needs.newHeaders() }, error, { path: "none" });
	app.notFound((c) => {
		const { pages } = needs;
		if (pages !== undefined && isForPages(c.req.method, c.req.path, c.req.header("accept")))
			return answerPage(needs, pages, c, sourceOf(c.env.incoming));
		return unrouted(c, noRoute(allowedMethods(app, routes, c.req.path)));
	});
	app.onError((error, c) => unrouted(c, error));
	return app;
}

/**
 * Makes hono's quick routers, one for each number of segments, with its other one for paths that a quick one rejects: a fixed segment next to a
 * variable one (`/leases/revoke`, `/leases/{id}/abandon`). Hono itself would choose one of them for all routes: each request would cost 1 µs more,
 * and 2 µs more where one expression has the parameters of all routes.
 */
function createRouter<T>(): Router<T> {
	const quick = new Map<number, RegExpRouter<T>>();
	const thorough = new TrieRouter<T>();
	return {
		name: "QuickRouter",
		add(method, path, handler) {
			const segments = countSegments(path);
			const router = quick.get(segments) ?? new RegExpRouter<T>();
			quick.set(segments, router);
			try {
				router.add(method, path, handler);
			} catch (error) {
				if (!(error instanceof UnsupportedPathError)) throw error;
				thorough.add(method, path, handler);
			}
		},
		match(method, path) {
			const found = quick.get(countSegments(path))?.match(method, path);
			return found !== undefined && found[0].length > 0 ? found : thorough.match(method, path);
		},
	};
}

function countSegments(path: string): number {
	let segments = 0;
	for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) segments++;
	return segments;
}

const ALTERED =
	"another program altered the server's database, so the server does not trust it: the server's log names the alteration";

interface Request {
	c: Context<Env>;
	headers: AnswerHeaders;
	request_id: string;
	ip: string;
	readQuery: QueryReader;
	/** Names of the path's parts. */
	parts: readonly string[];
}

async function answer(
	needs: AppNeeds,
	{ c, headers, request_id, ip, readQuery, parts }: Request,
	route: Route,
): Promise<Response> {
	const { incoming, outgoing } = c.env;
	const asksStore = route.trustsNothing !== true && route.needsNoStore !== true;
	if (needs.keepUp !== undefined && asksStore) await needs.keepUp();
	if (needs.isAltered() && route.trustsNothing !== true) throw new AppError("database_altered", ALTERED);
	if (isOdd(incoming.url ?? "")) throw new AppError("not_found", ODD);
	const { authorization, cookie, host, "if-none-match": if_none_match, "user-agent": agent } = incoming.headers;
	const identify = () => (route.isPublic ? undefined : needs.identify(authorization, request_id, ip, route, agent));
	// Before the body: the server does not wait for a stranger's.
	const early = await identify();
	const isWhole = route.body === undefined || isHere(incoming);
	const query = readQuery(incoming.url ?? "");
	const body = route.body === undefined ? EMPTY : check(route.body, await readBody(needs, incoming, ip, early, route));
	// Access may have been revoked while the body arrived. The change itself checks for anything later. Design: §13
	const actor = isWhole ? early : await identify();
	const onAnswered = (listener: (isDelivered: boolean) => void) => watchAnswer(outgoing, listener);
	const call = {
		actor,
		params: paramsOf(c, parts),
		query,
		body,
		request_id,
		ip,
		authorization,
		cookie,
		if_none_match,
		host,
		headers,
		onAnswered,
	};
	const handled = call as unknown as Call<string, undefined, undefined, never>;
	const result = await (route.isBrief
		? route.handle(handled)
		: withSlot(slotOfRequest(incoming), route.handle, handled));
	if (route.media !== undefined) headers["content-type"] = route.media;
	const status = route.other?.when(result) === true ? route.other.status : route.status;
	if (status === 304) return respond(null, status, headers);
	const isReady = typeof result === "string" || result instanceof Streamed || result instanceof Uint8Array;
	const ready = isReady ? result : JSON.stringify(result);
	if (c.req.method === "HEAD") return respond(null, status, headers);
	if (typeof ready === "string" && ready.length <= SMALL_CHARS) return respond(ready, status, headers);
	const whole = await needs.answers.send(outgoing, recipientOf(actor, ip), { status, headers }, ready);
	return whole === undefined ? loadAlreadySent() : respond(whole, status, headers);
}

/** Reads the path's parts by name: hono looks for the names first when it is asked for all. */
function paramsOf({ req }: Context<Env>, parts: readonly string[]): Record<string, string> {
	const params: Record<string, string> = {};
	for (const name of parts) params[name] = req.param(name) ?? "";
	return params;
}

function readBody(needs: AppNeeds, incoming: IncomingMessage, ip: string, actor: Actor | undefined, route: Route) {
	const hold = needs.bodies.holderFor(ip);
	return route.isForm ? readForm(incoming, hold) : readJson(incoming, hold, recipientOf(actor, ip).keys);
}

/** Answers a request for the console: every error is a page, too. */
async function answerPage(needs: AppNeeds, pages: Pages, c: Context<Env>, ip: string): Promise<Response> {
	const started = performance.now();
	const { incoming, outgoing } = c.env;
	const shared = needs.newHeaders();
	const request_id = shared["x-request-id"];
	const request: PageRequest = {
		method: c.req.method === "HEAD" ? "GET" : c.req.method,
		target: incoming.url ?? "",
		headers: incoming.headers,
		request_id,
		ip,
		readForm: (most = MAX_BODY_BYTES) => readForm(incoming, needs.bodies.holderFor(ip), most),
	};
	const ask = async (asked: PageRequest) => {
		await needs.keepUp?.();
		if (needs.isAltered()) throw new AppError("database_altered", ALTERED);
		if (isOdd(asked.target)) throw new AppError("not_found", ODD);
		return pages.answer(asked);
	};
	const answer = await withSlot(slotOfRequest(incoming), ask, request).catch((thrown: unknown) => {
		const error = noted(needs, { request_id, method: request.method, route: CONSOLE }, thrown);
		return pages.refuse(request, error);
	});
	const { status, body } = answer;
	const headers = { ...shared, ...answer.headers };
	needs.metrics.answered(request.method, CONSOLE, status, (performance.now() - started) / 1000);
	if (c.req.method === "HEAD") return c.body(null, status as 200, headers);
	const whole = await needs.answers.send(outgoing, recipientOf(answer.actor, ip), { status, headers }, body);
	return whole === undefined ? loadAlreadySent() : c.body(whole as string, status as 200, headers);
}

/** All pages are one route to the metrics and the log. */
const CONSOLE = "/console";

/** Makes an answer whose headers stay an object. hono makes Headers of two or more, and the adapter an object of these again, in 7 µs. */
function respond(body: string | Uint8Array | null, status: number, headers: Record<string, string>): Response {
	return new Response(body as BodyInit | null, { status, headers });
}

function recipientOf(actor: Actor | undefined, ip: string): Recipient {
	if (actor === undefined) return { person: undefined, keys: keysOfSource(sourceGroup(ip)) };
	return { person: actor.token_id ?? actor.jti, keys: keysOf(actor) };
}

function watchAnswer(outgoing: HttpBindings["outgoing"], listener: (isDelivered: boolean) => void): void {
	if (outgoing.closed || outgoing.destroyed) setImmediate(() => listener(false));
	else outgoing.once("close", () => listener(outgoing.writableFinished && outgoing.statusCode < 400));
}

/** Makes every error's answer. */
function fail(
	needs: AppNeeds,
	{ c, headers }: Pick<Request, "c" | "headers">,
	thrown: unknown,
	route: Pick<Route, "path" | "notFound">,
): Response {
	const asked = { request_id: headers["x-request-id"], method: c.req.method, route: route.path };
	const error = noted(needs, asked, thrown);
	const body = error.code === "not_found" && route.notFound !== undefined ? route.notFound : error;
	return respond(JSON.stringify(body), error.status, { ...headers, ...error.headers });
}

/** Logs and counts what ended a request. Only the log sees errors that are not AppErrors. @returns what the caller may see */
function noted(
	needs: AppNeeds,
	asked: { request_id: string; method: string; route: string },
	thrown: unknown,
): AppError {
	const error = thrown instanceof AppError ? thrown : new AppError("internal_error", INTERNAL, { cause: thrown });
	if (error.status >= 500) {
		const { status, message, cause } = error;
		const facts = { ...asked, status, message };
		needs.log("error", "request.failed", cause === undefined ? facts : { ...facts, error: cause });
	}
	if (error instanceof LimitReached) needs.limits.refuse(error.limit);
	return error;
}

const INTERNAL = "internal error: the server's log has the details under this answer's X-Request-Id";

function noRoute(allowed: readonly string[]): AppError {
	if (allowed.length === 0) {
		return new AppError("not_found", "this path does not exist: GET /api/v1/openapi.json lists the endpoints");
	}
	const allow = allowed.join(", ");
	return new AppError("method_not_allowed", `this path accepts only ${allow}`, { headers: { allow } });
}

function allowedMethods(app: App, routes: readonly Route[], path: string): string[] {
	const methods = new Set(routes.map((route) => route.method));
	return [...methods]
		.filter((method) => app.router.match(method, path)[0].length > 0)
		.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}
