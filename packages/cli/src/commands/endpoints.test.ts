import assert from "node:assert/strict";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const REALM = { slug: "shop", name: "Shop", description: "", id: "i", user_id: "u", created_at: "t" };
const TOKEN = { id: "i", prefix: "p", name: "n", scopes: "read", created_at: "t", expires_at: "soon" };
const BINDING = { user_id: "u", role: "viewer", granted_by: "g", created_at: "t" };

const COMMANDS: readonly (readonly [words: string, request: string, answer: object, stdout: string])[] = [
	["realm list", "GET realms?limit=100", page("realms", [REALM]), "SLUG  NAME  CREATED\nshop  Shop  t\n"],
	[
		"realm create shop",
		'POST realms {"slug":"shop","name":"shop"}',
		{ status: 201, body: REALM },
		"realm shop created\n",
	],
	["realm delete shop --yes", "DELETE realms/shop", { body: { message: "realm deleted" } }, "realm shop deleted\n"],
	[
		"realm show shop",
		"GET realms/shop",
		{ body: REALM },
		"slug         shop\nname         Shop\ndescription\nid           i\nowner        u\ncreated      t\n",
	],
	[
		"token list",
		"GET auth/tokens?limit=100",
		page("tokens", [TOKEN]),
		"ID  PREFIX  NAME  SCOPES  CREATED  EXPIRES\ni   p       n     read    t        soon\n",
	],
	["token revoke i", "DELETE auth/tokens/i", { body: { message: "token revoked" } }, "token revoked\n"],
	[
		"binding list --realm shop",
		"GET realms/shop/policy/bindings?limit=100",
		page("bindings", [BINDING]),
		"USER  ROLE    GRANTED BY  CREATED\nu     viewer  g           t\n",
	],
	[
		"binding add u viewer --realm shop",
		'POST realms/shop/policy/bindings {"user_id":"u","role":"viewer"}',
		{ status: 201, body: BINDING },
		"u is viewer of shop\n",
	],
	[
		"binding remove u --realm shop",
		"DELETE realms/shop/policy/bindings/u",
		{ body: { message: "binding removed" } },
		"binding removed\n",
	],
	["encrypt x", 'POST encrypt {"value":"x"}', { body: { ciphertext: "svc:v1:x" } }, "svc:v1:x\n"],
];

for (const [words, request, answer, stdout] of COMMANDS) {
	test(`svc ${words} asks for ${request}`, async () => {
		await using server = await startService(() => answer);
		assert.deepEqual(
			await run(words.split(" "), { env: server.env }).then((outcome) => [outcome.code, outcome.stdout]),
			[0, stdout],
		);
		const [seen] = server.requests;
		const body = seen?.body === undefined ? "" : ` ${JSON.stringify(seen.body)}`;
		assert.equal(`${seen?.method} ${seen?.url.replace("/api/v1/", "")}${body}`, request);
	});
}
