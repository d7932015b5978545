import type * as v from "valibot";
import type { ErrorCode } from "../errors.ts";
import type { Actor } from "../policy/model.ts";
import type { ObjectSchema } from "./input.ts";

type Fields<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Fields<Rest> : never;
type Output<Schema> = Schema extends v.GenericSchema ? v.InferOutput<Schema> : Record<string, never>;

/** A request as a route's handler gets it: checked, and free of the framework. */
export interface Call<Path extends string, Query, Body, Who> {
	/** The signed-in caller; undefined on public routes. */
	actor: Who;
	/** Parts of the path, decoded. */
	params: { [Name in Fields<Path>]: string };
	query: Output<Query>;
	body: Output<Body>;
	request_id: string;
	/** Source address. */
	ip: string;
	/** The bare Authorization header, for routes that are public under some settings. */
	authorization: string | undefined;
	/** The bare Host header, for a login that must begin at the server's own name. */
	host: string | undefined;
	/** The bare Cookie header. */
	cookie: string | undefined;
	/** The bare If-None-Match header. */
	if_none_match: string | undefined;
	/** Headers of the answer; a handler may add to them. */
	headers: Record<string, string>;
	/** Calls the listener once the answer is sent, or the caller is gone. */
	onAnswered(listener: (isDelivered: boolean) => void): void;
}

interface Definition<Path extends string, Query, Body, Who> {
	method: "GET" | "POST" | "PUT" | "DELETE";
	/** Path with its parts in braces, as OpenAPI writes it. */
	path: Path;
	/** One line for the reference. */
	summary: string;
	query?: Query;
	body?: Body;
	/** The body is a form that a browser posts, in place of JSON. */
	isForm?: boolean;
	/** Status of success; with 302 the handler sets the Location. */
	status: 200 | 201 | 202 | 302;
	/** Schema of the answer on success. */
	answer: v.GenericSchema;
	/** Content type of an answer that is not JSON. */
	media?: string;
	/** Error codes of this route, in addition to those of every route of its kind. */
	errors?: readonly ErrorCode[];
	/** Another status for the same answer when `when` returns true. */
	other?: { status: 202 | 302 | 304 | 503; when(answer: unknown): boolean };
	/** Headers that a success may have, in addition to those of every answer. */
	headers?: readonly ("X-Lease-Id" | "X-Secret-Expired")[];
	/** Waits for nothing but a commit: no engine, password, provider or long read. It then skips the cost of being able to release its slot. */
	isBrief?: boolean;
	/** Machines may call it, within their role and limits. All other routes are for people. Design: §15 */
	forMachines?: boolean;
	/** A token for backups may call it. Each one gets 403 from all other routes. */
	forBackups?: boolean;
	/** A session without the second factor that the server requires may call it. Each one gets 403 from all other routes. Design: §16 */
	forNewFactor?: boolean;
	/** Answers also while the database is not trusted. */
	trustsNothing?: boolean;
	/** Answers also while the store does not. */
	needsNoStore?: boolean;
	/** Answered instead of the error object when something is not found. */
	notFound?: object;
	handle(call: Call<Path, Query, Body, Who>): Promise<unknown>;
}

/** A route with its types erased, as the app mounts it and OpenAPI describes it. */
export interface Route extends Definition<string, ObjectSchema | undefined, ObjectSchema | undefined, never> {
	/** Public routes are mounted without a token check. */
	isPublic: boolean;
}

/** The callers to whom a route is open in addition to people: none by default. */
type OpenTo = Pick<Route, "forMachines" | "forBackups" | "forNewFactor">;

/**
 * Identifies the caller of a request.
 * @throws AppError unauthorized, forbidden (a machine, or a session without a second factor), insufficient_scope (a token for backups)
 */
export type Identify = (
	authorization: string | undefined,
	request_id: string,
	ip: string,
	openTo?: OpenTo,
	/** Name by which the program calls itself. */
	agent?: string,
) => Promise<Actor>;

/** Declares a route for signed-in callers. One declaration serves the router, the validation and the reference. */
export function route<
	const Path extends string,
	Query extends ObjectSchema | undefined = undefined,
	Body extends ObjectSchema | undefined = undefined,
>(definition: Definition<Path, Query, Body, Actor>): Route {
	return { ...definition, isPublic: false } as unknown as Route;
}

/** Declares a route that needs no token. */
export function publicRoute<
	const Path extends string,
	Query extends ObjectSchema | undefined = undefined,
	Body extends ObjectSchema | undefined = undefined,
>(definition: Definition<Path, Query, Body, undefined>): Route {
	return { ...definition, isPublic: true } as unknown as Route;
}
