import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "../errors.ts";
import type { NewHeaders } from "./headers.ts";

/** Answers requests that are not HTTP, too long or too slow as every other error is answered, and ends the connection. Design: §7. */
export function answerMalformed(server: Server, newHeaders: NewHeaders): void {
	// What was begun on a connection: after its first byte another answer would be read as part of it.
	const begun = new WeakMap<Duplex, ServerResponse>();
	server.on("request", (incoming, outgoing) => begun.set(incoming.socket, outgoing));
	server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
		const outgoing = begun.get(socket);
		const isTooLate = outgoing?.headersSent && !outgoing.writableFinished;
		if (error.code === "ECONNRESET" || !socket.writable || isTooLate) socket.destroy();
		else socket.end(rawAnswer(toAppError(error.code), newHeaders));
	});
}

/**
 * Answers a request that does not say which host it is for, as HTTP/1.1 demands it. (Node's own check would answer without the error object.)
 * @returns whether it was one
 */
export function answerHostless(incoming: IncomingMessage, outgoing: ServerResponse, newHeaders: NewHeaders): boolean {
	if (incoming.headers.host !== undefined || incoming.httpVersion === "1.0") return false;
	const error = new AppError("bad_request", "the header Host is missing");
	const body = JSON.stringify(error);
	outgoing.writeHead(error.status, closingHeaders(newHeaders, body)).end(body);
	return true;
}

/** The answer to a request whose target or host cannot be understood. */
export function malformedResponse(newHeaders: NewHeaders): Response {
	const error = new AppError("bad_request", "the request's host or path cannot be understood");
	return new Response(JSON.stringify(error), { status: error.status, headers: newHeaders() });
}

function toAppError(code: string | undefined): AppError {
	if (code === "HPE_HEADER_OVERFLOW")
		return new AppError("headers_too_large", "the headers must be at most 16 KiB together");
	if (code === "ERR_HTTP_REQUEST_TIMEOUT")
		return new AppError("request_timeout", "the request took too long to arrive");
	return new AppError("bad_request", "the request is not valid HTTP/1.1");
}

function rawAnswer(error: AppError, newHeaders: NewHeaders): string {
	const body = JSON.stringify(error);
	const lines = Object.entries(closingHeaders(newHeaders, body)).map(([name, value]) => `${name}: ${value}\r\n`);
	return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join("")}\r\n${body}`;
}

function closingHeaders(newHeaders: NewHeaders, body: string): Record<string, string> {
	return { ...newHeaders(), connection: "close", "content-length": String(Buffer.byteLength(body)) };
}
