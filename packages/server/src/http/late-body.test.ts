import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import * as v from "valibot";
import { unauthorized } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { anActor } from "../testing/actor.ts";
import { anyConnections } from "../testing/connections.ts";
import { createTestLog } from "../testing/log.ts";
import { createTestSystem } from "../testing/system.ts";
import { createAdmission } from "./admission.ts";
import { Answers } from "./answers.ts";
import { createApp } from "./app.ts";
import { Bodies } from "./bodies.ts";
import { createHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import { route } from "./route.ts";

/** An app with one route that echoes its body, and a count of identifications; each succeeds until `ended` is set. */
async function start(t: TestContext) {
	const seen: { handled: string[]; identified: number; ended: boolean } = { handled: [], identified: 0, ended: false };
	const { promise: first, resolve } = Promise.withResolvers<void>();
	const newHeaders = createHeaders(createTestSystem());
	const needs = {
		log: createTestLog().log,
		metrics: { answered: () => undefined },
		newHeaders,
		answers: new Answers({ log: createTestLog().log, limits: createLimits() }),
		bodies: new Bodies(createLimits()),
		limits: createLimits(),
		trusted_proxies: [],
		isAltered: () => false,
		async identify() {
			seen.identified++;
			if (seen.ended) throw unauthorized();
			resolve();
			return anActor();
		},
	};
	const answer = v.object({ text: v.string() });
	const given = { method: "POST", path: "/", summary: "", status: 200, body: answer, answer } as const;
	const handle = async ({ body }: { body: { text: string } }) => {
		seen.handled.push(body.text);
		return body;
	};
	const app = createApp(needs, [route({ ...given, handle })]);
	const admission = createAdmission({ newHeaders, limits: createLimits() }, []);
	const listener = await listen(
		{ app: app as never, newHeaders, admission, connections: anyConnections() },
		{ host: "127.0.0.1", port: 0 },
		undefined,
	);
	t.after(() => listener.close());
	const { port } = listener.address;
	const request = httpRequest({ host: "127.0.0.1", port, method: "POST", headers: { authorization: "Bearer held" } });
	request.on("error", () => undefined);
	const answered = async () => {
		const [response] = (await once(request, "response")) as [IncomingMessage];
		response.resume();
		return response.statusCode;
	};
	return { seen, first, request, answered, port };
}

test("a caller whose access ends while the body is awaited reaches no rule", async (t) => {
	const { seen, first, request, answered } = await start(t);
	request.flushHeaders();
	await first;
	seen.ended = true;
	request.end(JSON.stringify({ text: "late" }));
	assert.equal(await answered(), 401);
	assert.deepEqual(seen, { handled: [], identified: 2, ended: true });
});

test("a request that arrives whole is identified once", async (t) => {
	const { seen, request, answered } = await start(t);
	request.end(JSON.stringify({ text: "whole" }));
	assert.equal(await answered(), 200);
	assert.deepEqual(seen, { handled: ["whole"], identified: 1, ended: false });
});

test("a stranger is refused before the body is there", async (t) => {
	const { seen, request, answered } = await start(t);
	seen.ended = true;
	request.flushHeaders();
	assert.equal(await answered(), 401);
	assert.deepEqual(seen, { handled: [], identified: 1, ended: true });
});

test("a request that announces no body has an empty one: nothing waits for more", async (t) => {
	const { seen, request, port } = await start(t);
	request.destroy();
	const socket = connect(port, "127.0.0.1").setEncoding("utf8");
	t.after(() => socket.destroy());
	socket.write("POST / HTTP/1.1\r\nHost: here\r\n\r\n");
	const [answer] = (await once(socket, "data")) as [string];
	assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*"invalid_json"/);
	assert.deepEqual(seen, { handled: [], identified: 1, ended: false });
});
