import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "../failure.ts";

/** Milliseconds that a person has to sign in; the server's own limit is the same. Design: §11. */
const WAIT_MS = 10 * 60_000;

/** Target of the server's redirect: 32 random bytes in base64url, or the code of an error, and nothing else. */
const TARGET = /^\/\?(?:code=([\w-]{43})|error=([a-z_]{1,40}))$/;

const HEADERS = {
	"content-type": "text/html; charset=utf-8",
	"cache-control": "no-store",
	"content-security-policy": "default-src 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	connection: "close",
};

/** A port on loopback that waits for a browser. */
export interface LoopbackListener extends Disposable {
	/** 1024 to 65535: the system never assigns a lower one. */
	readonly port: number;
	/** Result of the first browser. @throws Failure when none comes in time */
	readonly result: Promise<LoginResult>;
}

/** The code of a login, or of the error that refused it. */
type LoginResult = { readonly code: string } | { readonly error: string };

/**
 * Waits for a browser on a free port of 127.0.0.1.
 * @param waitMs milliseconds until it gives up
 * @throws the system's error when it cannot listen on any port
 */
export async function awaitBrowser(waitMs = WAIT_MS): Promise<LoopbackListener> {
	const { promise: result, resolve, reject } = Promise.withResolvers<LoginResult>();
	const server = createServer();
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	let isTaken = false;
	server.on("request", (request, response) => {
		const { status, result } = isTaken ? NOTHING : responseTo(request, port);
		isTaken ||= result !== undefined;
		// After the page has left: the code's receiver ends the listener.
		if (result !== undefined) response.once("close", () => resolve(result));
		response.writeHead(status, { ...HEADERS, ...(status === 405 ? { allow: "GET" } : {}) });
		response.end(page(textOf(result)));
	});
	const giveUp = () => reject(new Failure("failed", "nobody signed in with the browser in time", { code: "timeout" }));
	const timer = setTimeout(giveUp, waitMs);
	return {
		port,
		result,
		[Symbol.dispose]: () => {
			clearTimeout(timer);
			server.close();
			server.closeAllConnections();
		},
	};
}

interface Response {
	readonly status: 200 | 400 | 404 | 405 | 421;
	readonly result?: LoginResult;
}

const NOTHING: Response = { status: 404 };

/** Another page's script can reach this port under a name of its own, but then Host contains that name. */
function responseTo({ method, url = "", headers }: IncomingMessage, port: number): Response {
	if (headers.host !== `127.0.0.1:${port}`) return { status: 421 };
	if (!/^\/(\?|$)/.test(url)) return NOTHING;
	if (method !== "GET") return { status: 405 };
	const [, code, error] = TARGET.exec(url) ?? [];
	if (code !== undefined) return { status: 200, result: { code } };
	return error === undefined ? { status: 400 } : { status: 200, result: { error } };
}

function textOf(result: LoginResult | undefined): string {
	if (result === undefined) return "There is nothing here.";
	// Only the server can tell svc what the code is worth.
	return "code" in result
		? "svc continues in the terminal. You can close this window."
		: "You are not signed in: the terminal says why. You can close this window.";
}

function page(text: string): string {
	return `<!doctype html>\n<html lang="en">\n<title>svc</title>\n<p>${text}</p>\n</html>\n`;
}
