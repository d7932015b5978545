import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import type { Server } from "../harness.ts";
import type { Person } from "./fixtures.ts";

/** Name of the session's cookie over HTTPS. */
export const COOKIE = "__Host-svc-session";

/** An answer of the console. */
export interface PageAnswer {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly text: string;
}

/** Keeps connections: a server takes 50 new ones of a source each second. */
const agent = new Agent({
	keepAlive: true,
	// The certificate is not for the other hosts that a test names.
	checkServerIdentity: () => undefined,
});

/** Sends a request as it is given, without what a browser would add. */
export async function ask(
	server: Server,
	method: string,
	path: string,
	headers: Record<string, string> = {},
	form?: Record<string, string>,
): Promise<PageAnswer> {
	const { hostname, port } = new URL(server.url);
	const type = form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" };
	const outgoing = request({ agent, ca: server.ca, hostname, port, method, path, headers: { ...type, ...headers } });
	outgoing.end(form === undefined ? undefined : new URLSearchParams(form).toString());
	const incoming = await once(outgoing, "response").then(
		([response]) => response as IncomingMessage,
		(error: NodeJS.ErrnoException) => {
			// The server closed an idle connection at this very moment.
			if (outgoing.reusedSocket && error.code === "ECONNRESET") return undefined;
			throw error;
		},
	);
	if (incoming === undefined) return ask(server, method, path, headers, form);
	return { status: incoming.statusCode ?? 0, headers: incoming.headers, text: await text(incoming) };
}

/** Headers of a form that the console's own page sends. */
export const ours = (server: Server) => ({ "sec-fetch-site": "same-origin", origin: server.url });

/** Cookies that an answer sets, as a browser sends them back. */
export const cookiesOf = ({ headers }: PageAnswer): string =>
	(headers["set-cookie"] ?? []).map((one) => one.split(";", 1).join()).join("; ");

/** Signs in by hand. @param code of a second factor @returns the header with the session's cookie */
export async function enter(server: Server, { email, password }: Person, code = ""): Promise<{ cookie: string }> {
	const form = code === "" ? { email, password } : { email, password, code };
	const answer = await ask(server, "POST", "/console/sign-in", ours(server), form);
	const cookie = answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
	return { cookie };
}

/** Reads the session's form token from a page. */
export async function tokenOf(server: Server, session: { cookie: string }): Promise<string> {
	const { text: page } = await ask(server, "GET", "/console", session);
	return /name="form_token" value="([\w-]+)"/.exec(page)?.[1] ?? "";
}
