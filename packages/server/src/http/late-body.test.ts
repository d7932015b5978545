import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { after, test } from "node:test";
import * as v from "valibot";
import { unauthorized } from "../errors.ts";
import { createLimits } from "../limits.ts";
import { anActor } from "../testing/actor.ts";
import { createTestLog } from "../testing/log.ts";
import { createTestSystem } from "../testing/system.ts";
import { createAdmission } from "./admission.ts";
import { createApp } from "./app.ts";
import { createHeaders } from "./headers.ts";
import { listen } from "./listen.ts";
import { route } from "./route.ts";

test("whose access ends while the body is awaited reaches no rule", async () => {
	const handled: string[] = [];
	const ended = new Set<string | undefined>();
	const identified = Promise.withResolvers<void>();
	const newHeaders = createHeaders(createTestSystem());
	const needs = {
		log: createTestLog().log,
		metrics: { answered: () => undefined },
		newHeaders,
		trusted_proxies: [],
		async identify(authorization: string | undefined) {
			if (ended.has(authorization)) throw unauthorized();
			identified.resolve();
			return anActor();
		},
	};
	const answer = v.object({ text: v.string() });
	const given = { method: "POST", path: "/", summary: "", status: 200, body: answer, answer } as const;
	const handle = async ({ body }: { body: { text: string } }) => {
		handled.push(body.text);
		return body;
	};
	const app = createApp(needs, [route({ ...given, handle })]);
	const admit = createAdmission({ newHeaders, limits: createLimits() }, []);
	const listener = await listen({ app: app as never, newHeaders, admit }, { host: "127.0.0.1", port: 0 }, undefined);
	after(() => listener.close());
	const { port } = listener.address;
	const request = httpRequest({ host: "127.0.0.1", port, method: "POST", headers: { authorization: "Bearer held" } });
	request.flushHeaders();
	await identified.promise;
	ended.add("Bearer held");
	request.end(JSON.stringify({ text: "late" }));
	const [response] = (await once(request, "response")) as [IncomingMessage];
	response.resume();
	assert.equal(response.statusCode, 401);
	assert.deepEqual(handled, []);
});
