import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { page, refusal, startFake, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const EXISTING = [
	{ key: "SAME", value: "as before" },
	{ key: "OTHER", value: "before" },
	{ key: "KEPT", value: "only here" },
];
const PEM = "-----BEGIN KEY-----\nabc=\n-----END KEY-----\n";
const FILE = `SAME='as before'\nOTHER=after\nNEW='${PEM}'\n`;

/** A service with three secrets, whose second page holds the last; it refuses to write `refused`. */
async function startShop(refused = "") {
	const server = await startFake(
		({ method, url, body }) => {
			const { key } = (body ?? {}) as { key?: string };
			if (key === refused) return refusal(400, "validation_failed", "value must be at most 262144 bytes");
			if (method === "POST") return { status: 201, body: { key, version: 1 } };
			if (url.includes("cursor=")) return page("secrets", EXISTING.slice(2));
			return { body: { secrets: EXISTING.slice(0, 2), pagination: { has_more: true, next_cursor: "c" } } };
		},
		{ plain: true },
	);
	const env = { SVC_TOKEN: "svc_token", SVC_ADDRESS: server.address, SVC_REALM: "shop", SVC_ENV: "prod" };
	const written = () => server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
	return Object.assign(server, { env, written });
}

const PLAN = { realm: "shop", environment: "prod", add: ["NEW"], change: ["OTHER"], unchanged: ["SAME"] };

test("a dry run shows what would change, without values, and writes nothing", async () => {
	await using service = await startShop();
	const surroundings = { env: service.env, stdin: FILE };
	const shown = await run(["import", "-", "--dry-run"], surroundings);
	assert.equal(shown.stdout, "EFFECT     KEY    LINE\nunchanged  SAME   1\nchange     OTHER  2\nadd        NEW    3\n");
	assert.equal(shown.stderr, "1 to add, 1 to change, 1 unchanged; nothing was written\n");
	const { stdout } = await run(["import", "-", "--dry-run", "--json"], surroundings);
	assert.deepEqual(JSON.parse(stdout), { dry_run: true, ...PLAN });
	assert.deepEqual(service.written(), []);
});

test("only what differs is written, byte for byte", async () => {
	await using service = await startShop();
	const { code, stdout } = await run(["import", "-"], { env: service.env, stdin: FILE });
	assert.deepEqual([code, stdout], [0, "1 added, 1 changed, 1 unchanged in shop/prod\n"]);
	assert.deepEqual(service.written(), [
		{ key: "OTHER", value: "after", environment: "prod" },
		{ key: "NEW", value: PEM, environment: "prod" },
	]);
	const json = await run(["import", "-", "--json"], { env: service.env, stdin: FILE });
	assert.deepEqual(JSON.parse(json.stdout), { ...PLAN, written: ["OTHER", "NEW"], not_written: [] });
});

test("it stops at the first failure and says what was written and what was not", async () => {
	await using service = await startShop("NEW");
	const stdin = `${FILE}LAST=x\n`;
	const { code, stderr } = await run(["import", "-"], { env: service.env, stdin });
	assert.equal(code, 1);
	assert.match(stderr, /^written: OTHER\nnot written: NEW LAST\nsvc: line 3, NEW: value must be at most/);
	const json = await run(["import", "-", "--json"], { env: service.env, stdin });
	assert.deepEqual(JSON.parse(json.stdout).not_written, ["NEW", "LAST"]);
	assert.equal(JSON.parse(json.stderr).error.code, "validation_failed");
	assert.ok(!service.written().some((body) => (body as { key: string }).key === "LAST"));
});

test("a key that a terminal would obey is spelled out", async () => {
	await using service = await startService(({ method }) =>
		method === "GET" ? page("secrets", []) : refusal(400, "validation_failed", "no such key"),
	);
	const stdin = JSON.stringify({ "A\u001b[2J": "x", "B\u001b]0;": "x" });
	const { stderr } = await run(["import", "-", "--format", "json", "--realm", "shop"], { env: service.env, stdin });
	assert.match(stderr, /^written: nothing\nnot written: A\\u001b\[2J B\\u001b\]0;\nsvc: line 1, A\\u001b/);
});

const REFUSED: readonly (readonly [file: string | Uint8Array, message: RegExp])[] = [
	["A=1\nB=\n", /line 2: the value is empty.*\nhint: --skip-empty/],
	["A=1\nB hunter2\n", /line 2: expected KEY=value/],
	["A=hunter2\nA=hunter2\n", /line 2: the same key is already on line 1/],
	[Buffer.from("A=1\nB=hunter2\xff\n", "latin1"), /line 2: is not UTF-8/],
];

for (const [file, message] of REFUSED) {
	test(`a file that is refused with ${message} is refused before anything is sent`, async () => {
		await using service = await startShop();
		const { code, stderr } = await run(["import", "-"], { env: service.env, stdin: file });
		assert.equal(code, 1);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2/);
		assert.deepEqual(service.requests, []);
	});
}

test("--skip-empty leaves entries without a value out", async () => {
	await using service = await startShop();
	assert.equal((await run(["import", "-", "--skip-empty"], { env: service.env, stdin: "A=\nB=1\n" })).code, 0);
	assert.deepEqual(service.written(), [{ key: "B", value: "1", environment: "prod" }]);
});

test("a terminal sees the progress, nothing else does", async () => {
	await using service = await startShop();
	await using folder = await temporaryFolder();
	const file = join(folder.path, ".env");
	await writeFile(file, FILE);
	const { stderr } = await run(["import", file], { env: service.env, typed: [] });
	assert.ok(stderr.startsWith("\r\u001b[Kwriting secrets") && stderr.endsWith("\r\u001b[K"), stderr);
	assert.equal((await run(["import", file], { env: service.env })).stderr, "");
});
