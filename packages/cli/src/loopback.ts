import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "./failure.ts";

/** Milliseconds that a person has for signing in: after as many the server, too, wants it begun anew. Design: §11. */
const WAIT_MS = 10 * 60_000;

/** Where the server sends a browser back to: 32 random bytes in base64url, and nothing else. */
const TARGET = /^\/\?code=([\w-]{43})$/;

const HEADERS = {
	"content-type": "text/html; charset=utf-8",
	"cache-control": "no-store",
	"content-security-policy": "default-src 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	connection: "close",
};

/** A port on loopback that waits for a browser. */
export interface Landing extends Disposable {
	/** 1024 to 65535: what the system gives away by itself is never below. */
	readonly port: number;
	/** The first code that a browser brings. @throws Failure when none does in time */
	readonly code: Promise<string>;
}

/**
 * Waits for a browser on a free port of 127.0.0.1.
 * @param waitMs milliseconds until it is given up
 * @throws the system's error when no port can be listened on
 */
export async function awaitBrowser(waitMs = WAIT_MS): Promise<Landing> {
	const { promise: code, resolve, reject } = Promise.withResolvers<string>();
	const server = createServer();
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	let isTaken = false;
	server.on("request", (request, response) => {
		const answer = isTaken ? { status: 404 } : judge(request, port);
		const isDone = "code" in answer;
		isTaken ||= isDone;
		// After the page has left: whoever has the code ends the listener.
		if (isDone) response.once("close", () => resolve(answer.code));
		response.writeHead(answer.status, { ...HEADERS, ...(answer.status === 405 ? { allow: "GET" } : {}) });
		response.end(page(isDone ? "You are signed in. You can close this window." : "There is nothing here."));
	});
	const giveUp = () => reject(new Failure("failed", "nobody signed in with the browser in time", { code: "timeout" }));
	const timer = setTimeout(giveUp, waitMs);
	return {
		port,
		code,
		[Symbol.dispose]: () => {
			clearTimeout(timer);
			server.close();
			server.closeAllConnections();
		},
	};
}

type Verdict = { status: 200; code: string } | { status: 400 | 404 | 405 | 421 };

/** Another page's script can reach this port by a name of its own, but then the name is in Host. */
function judge({ method, url = "", headers }: IncomingMessage, port: number): Verdict {
	if (headers.host !== `127.0.0.1:${port}`) return { status: 421 };
	if (!/^\/(\?|$)/.test(url)) return { status: 404 };
	if (method !== "GET") return { status: 405 };
	const code = TARGET.exec(url)?.[1];
	return code === undefined ? { status: 400 } : { status: 200, code };
}

function page(text: string): string {
	return `<!doctype html>\n<html lang="en">\n<title>svc</title>\n<p>${text}</p>\n</html>\n`;
}
