import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import * as v from "valibot";
import { AppError } from "../errors.ts";
import { createAdmission } from "../http/admission.ts";
import { Answers } from "../http/answers.ts";
import { createApp } from "../http/app.ts";
import { Bodies } from "../http/bodies.ts";
import { createHeaders } from "../http/headers.ts";
import { listen } from "../http/listen.ts";
import { publicRoute } from "../http/route.ts";
import { createLimits } from "../limits.ts";
import type { Actor } from "../policy/model.ts";
import { Streamed } from "../streamed.ts";
import { anyConnections } from "./connections.ts";
import { createTestLog } from "./log.ts";
import { createTestSystem } from "./system.ts";

/** Bytes in a MiB. */
export const MIB = 1024 * 1024;
/** A piece of an answer. */
export const PIECE = "x".repeat(64 * 1024);

/** Pieces that a route made, answers that it released, and whether each was delivered. */
export interface Made {
	pieces: number;
	returned: number;
	delivered?: boolean[];
}

/** Pieces, and the work of each in milliseconds. */
export function makePieces(made: Made, count: number, { work = 0, fails = Number.POSITIVE_INFINITY } = {}): Streamed {
	async function* pieces() {
		try {
			for (let at = 0; at < count; at++) {
				if (at === fails) throw new AppError("forbidden", "not this one");
				for (const until = performance.now() + work; performance.now() < until; );
				made.pieces++;
				yield PIECE;
			}
		} finally {
			made.returned++;
		}
	}
	return new Streamed(pieces());
}

/** A server with one route that gives this answer, to anybody or to whom `identify` finds. */
export async function serve(t: TestContext, answer: (made: Made) => unknown, identify?: () => Actor) {
	const delivered: boolean[] = [];
	const made = { pieces: 0, returned: 0, delivered };
	const newHeaders = createHeaders(createTestSystem());
	const limits = createLimits();
	const { log, entries } = createTestLog();
	const given = { method: "GET", path: "/", summary: "", status: 200, answer: v.unknown() } as const;
	const handle = async ({ onAnswered }: { onAnswered: (listener: (isDelivered: boolean) => void) => void }) => {
		onAnswered((isDelivered) => delivered.push(isDelivered));
		return answer(made);
	};
	const needs = {
		...{ log, newHeaders, metrics: { answered: () => undefined } },
		answers: new Answers({ log, limits }),
		bodies: new Bodies(limits),
		limits,
	};
	const app = createApp(
		{
			...needs,
			trusted_proxies: ["127.0.0.1"],
			isAltered: () => false,
			identify: async () => identify?.() ?? assert.fail("nobody"),
		},
		[{ ...publicRoute({ ...given, handle }), isPublic: identify === undefined }],
	);
	const admission = createAdmission({ newHeaders, limits }, ["127.0.0.1"]);
	const listener = await listen(
		{ app: app as never, newHeaders, admission, connections: anyConnections() },
		{ host: "127.0.0.1", port: 0 },
		undefined,
	);
	const sockets: Socket[] = [];
	t.after(() => {
		for (const socket of sockets) socket.destroy();
		return listener.close();
	});
	const { port } = listener.address;
	const used = (name: string) =>
		limits
			.all()
			.find((limit) => limit.name === name)
			?.used();
	/** Sends a request and reads nothing. */
	const ignore = (source: string) => {
		const socket = connect(port, "127.0.0.1").pause();
		socket.on("error", () => undefined);
		sockets.push(socket);
		socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${source}\r\n\r\n`);
		return socket;
	};
	return { made, entries, used, ignore, port };
}

/** Waits until no more pieces are made: the kernel's buffers are full, which only time shows. */
export async function untilFull(made: { readonly pieces: number }): Promise<void> {
	for (let before = -1; before !== made.pieces || made.pieces === 0; await wait(200)) before = made.pieces;
}
