import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { createLimits } from "../limits.ts";
import type { Actor } from "../policy/model.ts";
import { anActor } from "../testing/actor.ts";
import { anyConnections } from "../testing/connections.ts";
import { createTestLog } from "../testing/log.ts";
import { createTestSystem } from "../testing/system.ts";
import { until } from "../testing/until.ts";
import { createAdmission } from "./admission.ts";
import { Answers } from "./answers.ts";
import { createApp } from "./app.ts";
import { Bodies } from "./bodies.ts";
import { createHeaders } from "./headers.ts";
import { listen } from "./listen.ts";

const MIB = 1024 * 1024;

/** More than the kernel takes. */
const PAGE_BYTES = 8 * MIB;

/** A server that answers these visitors in turn, each with a page. */
async function serve(t: TestContext, visitors: Actor[]) {
	const newHeaders = createHeaders(createTestSystem());
	const limits = createLimits();
	const { log } = createTestLog();
	const page = (body: string, actor?: Actor) => ({ status: 200, headers: {}, body, ...(actor && { actor }) });
	const needs = {
		...{ log, newHeaders, limits, metrics: { answered: () => undefined } },
		...{ answers: new Answers({ log, limits }), bodies: new Bodies(limits) },
		...{ trusted_proxies: ["127.0.0.1"], isAltered: () => false, identify: () => assert.fail("not for pages") },
		pages: { answer: async () => page("x".repeat(PAGE_BYTES), visitors.shift()), refuse: async () => page("") },
	};
	const admission = createAdmission({ newHeaders, limits }, ["127.0.0.1"]);
	const parts = { app: createApp(needs, []) as never, newHeaders, admission, connections: anyConnections() };
	const listener = await listen(parts, { host: "127.0.0.1", port: 0 }, undefined);
	const sockets: Socket[] = [];
	t.after(() => {
		for (const socket of sockets) socket.destroy();
		return listener.close();
	});
	/** Asks for a page and reads nothing. */
	const ignore = (source: string) => {
		const socket = connect(listener.address.port, "127.0.0.1").pause();
		sockets.push(socket.on("error", () => undefined));
		socket.write(`GET /console HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${source}\r\n\r\n`);
	};
	const used = (name: string) =>
		limits
			.all()
			.find((limit) => limit.name === name)
			?.used();
	return { used, ignore, port: listener.address.port };
}

for (const [limit, most, visitor] of [
	["answer_bytes_per_token", 1, () => anActor()],
	["answer_bytes_per_account", 2, (count: number) => anActor({ jti: `session ${count}` })],
] as const) {
	test(`unread pages are counted whatever addresses they go to (${limit})`, async (t) => {
		const { used, ignore, port } = await serve(
			t,
			Array.from({ length: most + 1 }, (_, count) => visitor(count)),
		);
		for (let count = 0; count < most; count++) ignore(`192.0.2.${count}`);
		await until(() => used("answer_bytes") === most * PAGE_BYTES);
		const headers = { "x-forwarded-for": "192.0.2.99" };
		const options = { host: "127.0.0.1", port, path: "/console", headers, agent: false };
		const refused = await new Promise<IncomingMessage>((resolve) => get(options, resolve));
		assert.deepEqual([refused.statusCode, refused.headers["retry-after"]], [503, "5"]);
		assert.match(await readText(refused), new RegExp(`\\(${limit}\\)`));
	});
}
