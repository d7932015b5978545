import type { IncomingHttpHeaders } from "node:http";
import type { AppError } from "../errors.ts";
import type { Actor } from "../policy/model.ts";

/** A request for a page of the console. */
export interface PageRequest {
	/** GET, POST, …; HEAD is asked as GET. */
	method: string;
	/** Path and query as they came. */
	target: string;
	headers: IncomingHttpHeaders;
	request_id: string;
	/** Source address. */
	ip: string;
	/** Reads the posted form. @param most its largest size, in bytes, if it is less than usual @throws AppError as `readForm` */
	readForm(most?: number): Promise<Record<string, string>>;
}

/** Answer to a browser: a page, a file of the console, or the way to another page. */
export interface PageAnswer {
	status: number;
	/** In addition to those of every answer. */
	headers: Record<string, string | string[]>;
	body: string | Uint8Array;
	/** The visitor whose unread bytes the answer counts toward; undefined for a stranger, whose source it counts toward. */
	actor?: Actor;
}

/** The console, as the app asks it. Its pages are no routes: neither the router nor the reference knows them. */
export interface Pages {
	answer(request: PageRequest): Promise<PageAnswer>;
	/** Makes the page of an error that ended the request. */
	refuse(request: PageRequest, error: AppError): Promise<PageAnswer>;
}

/** Tells whether a request is for the console: its own paths, and `/` when a browser asks. Design: §16 */
export function isForPages(method: string, path: string, accept: string | undefined): boolean {
	if (path === "/console" || path.startsWith("/console/")) return true;
	return path === "/" && method === "GET" && accept?.includes("text/html") === true;
}
