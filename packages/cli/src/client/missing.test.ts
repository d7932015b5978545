import assert from "node:assert/strict";
import test from "node:test";
import { type FakeAnswer, page, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const REALMS = page("realms", [{ slug: "shop" }, { slug: "café" }]);
const SECRETS = page("secrets", [
	{ key: "DB_URI", environment: "dev" },
	{ key: "SMTP_PASSWORD", environment: "prod" },
	{ key: "DB_URLS", environment: "prod" },
]);
const NO_SECRET = "secret not found: `svc secret list` shows the keys of an environment";

/** A server that knows the realm shop and three secrets of it, and refuses everything else. */
const shop = (lists: Readonly<Record<string, FakeAnswer>>) =>
	startService(({ url }) => {
		const [at = "", query = ""] = url.replace("/api/v1/", "").split("?");
		const list = query.includes("limit=") || !/realms.[^?]*/.test(at) ? lists[at] : undefined;
		if (list !== undefined) return list;
		if (at.startsWith("realms/shop/machines"))
			return refusal(404, "not_found", "machine not found: `svc machine list` shows those of the realm");
		if (at.startsWith("realms/shop/engines")) return refusal(404, "not_found", "engine type not found: GET lists them");
		return at.startsWith("realms/shop/")
			? refusal(404, "not_found", NO_SECRET)
			: refusal(404, "not_found", "realm not found: `svc realm list` shows yours");
	});

const ALL = {
	realms: REALMS,
	"realms/shop/secrets": SECRETS,
	"realms/shop/machines": page("machines", [{ name: "deploy" }]),
	engines: { body: { engines: [{ type: "keyvalue" }, { type: "pki" }] } },
};

const NAMED: readonly (readonly [words: string, message: string, hint: RegExp])[] = [
	["secret get DB_URL --realm shop", "secret DB_URL not found in shop/dev", /\bDB_URI\? `svc secret list\b/],
	["secret delete DB_URL --realm shop", "secret DB_URL not found in shop/dev", /\bDB_URI\?/],
	["secret rollback DB_URL 2 --realm shop", "secret DB_URL not found in shop/dev", /\bDB_URI\?/],
	["secret get DB_URL --realm shop --env prod", "secret DB_URL not found in shop/prod", /\bDB_URLS\?/],
	["secret get DB_URI --realm shop --env prod", "secret DB_URI not found in shop/prod", /--env dev\b/],
	["secret get OTHER --realm shop", "secret OTHER not found in shop/dev", /`svc secret list`/],
	["secret get KEY --realm shp", "realm shp not found", /\bshop\? `svc realm list\b/],
	["secret set KEY v --realm shp", "realm shp not found", /\bshop\?/],
	["realm show sohp", "realm sohp not found", /\bshop\?/],
	["machine show deplyo --realm shop", "machine deplyo not found", /\bdeploy\? `svc machine list\b/],
	["machine token list deplyo --realm shop", "machine deplyo not found", /\bdeploy\?/],
	["lease list --realm nowhere", "realm nowhere not found", /`svc realm list`/],
	["keys status --realm shopp", "realm shopp not found", /\bshop\?/],
	["engine generate keyvalu --realm shop --role r", "engine type keyvalu not found", /\bkeyvalue\? `svc /],
];

for (const [words, message, hint] of NAMED) {
	test(`svc ${words} ends with "${message}", and with a hint`, async () => {
		await using server = await shop(ALL);
		const { code, stderr } = await run(words.split(" "), { env: server.env });
		assert.equal(code, 4);
		const [first, second = ""] = stderr.split("\nhint: ");
		assert.equal(first, `svc: ${message}`);
		assert.match(second, hint);
		for (const { url, method } of server.requests.slice(1)) {
			assert.equal(method, "GET");
			assert.doesNotMatch(url, /secrets\?(?!.*values=false)/, "no value is read for a suggestion");
		}
	});
}

test("a program, which asks with --json, gets the server's own error, and no further request is sent", async () => {
	await using server = await shop(ALL);
	const { stderr } = await run(["secret", "get", "DB_URL", "--realm", "shop", "--json"], { env: server.env });
	assert.deepEqual(JSON.parse(stderr).error, { code: "not_found", message: NO_SECRET, status: 404 });
	assert.equal(server.requests.length, 1);
});

test("a list that is forbidden or slow only costs the suggestion", async () => {
	const get = ["secret", "get", "DB_URL", "--realm", "shop"];
	await using closed = await shop({});
	const refused = await run(get, { env: closed.env });
	assert.match(refused.stderr, /^svc: secret DB_URL .* shop\/dev\nhint: `svc secret list`/);
	await using slow = await startService(({ url }) =>
		url.includes("limit=") ? new Promise<FakeAnswer>(() => undefined) : refusal(404, "not_found", NO_SECRET),
	);
	const started = performance.now();
	assert.match((await run(get, { env: slow.env })).stderr, /^svc: secret DB_URL .* shop\/dev\n/);
	assert.ok(performance.now() - started < 5000);
});

test("no more than three pages of names are read", async () => {
	const rows = Array.from({ length: 100 }, (_, index) => ({ key: `KEY_${index}`, environment: "dev" }));
	let pages = 0;
	await using server = await startService(({ url }) => {
		if (!url.includes("limit=")) return refusal(404, "not_found", NO_SECRET);
		pages += 1;
		return { body: { secrets: rows, pagination: { has_more: true, next_cursor: `c${pages}` } } };
	});
	await run(["secret", "get", "KEY_X", "--realm", "shop"], { env: server.env });
	assert.equal(pages, 3);
});

test("a word that may be a token or a value is not repeated and gets no suggestion", async () => {
	await using server = await shop(ALL);
	for (const typed of ["svc_hunter2", "KEY=hunter2", "hunter2 hunter2"]) {
		const { code, stderr } = await run(["secret", "get", typed, "--realm", "shop"], { env: server.env });
		assert.equal(code, 4);
		assert.match(stderr, /^svc: secret .* shop\/dev\n/);
		assert.doesNotMatch(stderr, /hunter2/);
	}
});
