import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "../errors.ts";
import type { NewHeaders } from "./headers.ts";
import type { Pipeline } from "./pipeline.ts";

/** Milliseconds after which a connection that ended badly is destroyed, whatever its client does. */
const LINGER_MS = 1000;

/**
 * Answers requests that are not valid HTTP, too long or too slow with the usual error object, and ends the connection. Design: §7, §13.
 * @param pipelineOf finds the pipeline of a socket
 */
export function answerMalformed(
	server: Server,
	newHeaders: NewHeaders,
	pipelineOf: (socket: object) => Pick<Pipeline, "answer" | "isOccupied" | "endAfterAnswer"> | undefined,
): void {
	// Before the handshake ends, no answer can be sent: it would wait for that end forever.
	server.prependListener("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
	server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
		const pipeline = pipelineOf(socket);
		if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
		// The bad request follows one that is still in hand.
		else if (pipeline?.isOccupied) pipeline.endAfterAnswer();
		// Once an answer has begun, the client would read another one as part of it.
		else if (pipeline?.answer?.headersSent) socket.destroy();
		else {
			// The parser would refuse the rest, too, and a second error destroys the connection before the answer is sent.
			pipeline?.endAfterAnswer();
			socket.end(rawAnswer(toAppError(error.code), newHeaders));
			setTimeout(() => socket.destroy(), LINGER_MS).unref();
		}
	});
}

/** Answers a request without the Host header that HTTP/1.1 demands. (Node's own check would answer without the error object.) */
export function answerHostless(outgoing: ServerResponse, newHeaders: NewHeaders): undefined {
	const error = new AppError("bad_request", "the header Host is missing");
	const body = JSON.stringify(error);
	outgoing.writeHead(error.status, closingHeaders(newHeaders, body)).end(body);
}

/** Answer to a request whose target or host cannot be parsed. */
export function malformedResponse(newHeaders: NewHeaders): Response {
	const error = new AppError("bad_request", "the request's host or path is malformed");
	return new Response(JSON.stringify(error), { status: error.status, headers: newHeaders() });
}

function toAppError(code: string | undefined): AppError {
	if (code === "HPE_HEADER_OVERFLOW") return new AppError("headers_too_large", "the headers must total at most 16 KiB");
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
