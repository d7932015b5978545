import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api } from "../harness/client.ts";
import { ask, enter } from "../harness/console.ts";
import { fewAtOnce, person, realm, secret } from "../harness/fixtures.ts";
import { startServer } from "../harness.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

const KEYS = 500;
const ENVIRONMENTS = ["dev", "test", "staging", "prod"];
const MOST_BYTES = 300_000;
const FIRST_MOST_BYTES = 60_000;

test("pages stay small: the first one, and 500 keys in 4 environments", async () => {
	const server = await startServer();
	ends.defer(() => server.close());
	const client = api(server);
	const ada = await person(client, "ada");
	const { slug } = await realm(client, ada, "shop");
	const session = await enter(server, ada);
	const bytesOf = async (path: string) => Buffer.byteLength((await ask(server, "GET", path, session)).text);
	assert.ok((await bytesOf("/console")) <= FIRST_MOST_BYTES);
	const all = Array.from({ length: KEYS }, (_, index) => `services/payments/SECRET_${index}`);
	const pairs = all.flatMap((key) => ENVIRONMENTS.map((environment) => ({ key, environment })));
	await fewAtOnce(pairs, ({ key, environment }) => secret(client, ada, slug, key, "one", { environment }));
	const { text } = await ask(server, "GET", `/console/realms/${slug}`, session);
	assert.equal(text.match(/<th scope="row" class="key">/g)?.length, KEYS, "on one page");
	assert.equal(text.match(/>v1<\/a>/g)?.length, pairs.length);
	assert.ok(Buffer.byteLength(text) <= MOST_BYTES, `${Buffer.byteLength(text)} bytes`);

	await secret(client, ada, slug, all[0] ?? "", "two", { environment: "prod" });
	await secret(client, ada, slug, "ONE_MORE", "one", { environment: "dev" });
	const more = (await ask(server, "GET", `/console/realms/${slug}`, session)).text;
	assert.match(more, /\b2000\b/);
	assert.doesNotMatch(more, />not set</, "what is on another page is not missing");
	const next = /href="([^"]+cursor=[^"]+)"/.exec(more)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const rest = (await ask(server, "GET", next, session)).text;
	assert.match(rest, />ONE_MORE</);
	assert.doesNotMatch(rest, />not set</);
});
