/**
 * The bare server, a program of its own: node:http or node:https and nothing else. Reads one `BareAnswer` as JSON from stdin and gives that
 * answer to every request. It is the yardstick, so it does nothing that the answer does not need.
 */
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { BareAnswer } from "./bare.ts";

/** Ours keeps connections as long: the header that says so must be the same. */
const KEEP_ALIVE_MS = 65_000;

const { status, headers, body, tls } = (await json(process.stdin)) as BareAnswer;
const answer: RequestListener = (_, outgoing) => {
	outgoing.writeHead(status, headers);
	outgoing.end(body);
};
const server =
	tls === undefined ? createHttpServer(answer) : createHttpsServer({ ...tls, minVersion: "TLSv1.2" }, answer);
server.keepAliveTimeout = KEEP_ALIVE_MS;
process.once("SIGTERM", () => process.exit(0));
server.listen(0, "127.0.0.1", () => {
	const { port } = server.address() as AddressInfo;
	process.stdout.write(`listening on ${tls === undefined ? "http" : "https"}://127.0.0.1:${port}\n`);
});
