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
	let [bytes, keys] = [0, 0];
	let next: string | undefined = `/console/realms/${slug}`;
	while (next !== undefined) {
		const { text } = await ask(server, "GET", next, session);
		bytes = Math.max(bytes, Buffer.byteLength(text));
		keys += text.match(/<th scope="row" class="key">/g)?.length ?? 0;
		next = /href="([^"]+cursor=[^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
	}
	assert.ok(keys >= KEYS, `${keys} keys`);
	assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
});
