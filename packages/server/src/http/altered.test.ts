import assert from "node:assert/strict";
import { ServerResponse } from "node:http";
import { test } from "node:test";
import * as v from "valibot";
import { createLimits } from "../limits.ts";
import { createTestLog } from "../testing/log.ts";
import { createTestSystem } from "../testing/system.ts";
import { Answers } from "./answers.ts";
import { createApp } from "./app.ts";
import { Bodies } from "./bodies.ts";
import { createHeaders } from "./headers.ts";
import { publicRoute, route } from "./route.ts";

test("while the database is not trusted, a route is refused before authentication, unless it trusts nothing", async () => {
	let isAltered = false;
	let identified = 0;
	const limits = createLimits();
	const { log } = createTestLog();
	const needs = {
		log,
		metrics: { answered: () => undefined },
		newHeaders: createHeaders(createTestSystem()),
		answers: new Answers({ log, limits }),
		bodies: new Bodies(limits),
		limits,
		trusted_proxies: [],
		async identify(): Promise<never> {
			identified++;
			throw new Error("nobody");
		},
		isAltered: () => isAltered,
	};
	const given = { method: "GET", summary: "", status: 200, answer: v.unknown(), handle: async () => ({}) } as const;
	const app = createApp(needs, [
		route({ ...given, path: "/private" }),
		publicRoute({ ...given, path: "/public" }),
		publicRoute({ ...given, path: "/health", trustsNothing: true }),
	]);
	const statusOf = async (path: string) => {
		const incoming = { headers: {}, socket: { remoteAddress: "127.0.0.1" }, url: path };
		const outgoing = new ServerResponse(incoming as never);
		const { status } = await app.fetch(new Request(`http://localhost${path}`), { incoming, outgoing } as never);
		return status;
	};
	const statuses = () => Promise.all(["/private", "/public", "/health"].map(statusOf));
	assert.deepEqual([await statuses(), identified], [[500, 200, 200], 1]);
	isAltered = true;
	assert.deepEqual([await statuses(), identified], [[503, 503, 200], 1]);
});
