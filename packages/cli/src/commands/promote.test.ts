import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const row = (key: string, status: string, from_version: number | null, to_version: number | null) => ({
	...{ key, status, from_version, to_version },
	...{ from_expires_at: null, to_expires_at: null },
});

const SECRETS = [
	row("GONE", "only_in_to", null, 1),
	row("NEW", "only_in_from", 1, null),
	row("OTHER", "different", 2, 5),
	row("SAME", "equal", 1, 1),
];

const start = (secrets: readonly object[] = SECRETS) =>
	startService(({ method }) => ({ body: { secrets: method === "GET" ? secrets : [] } }));

const DIFF = ["diff", "staging", "prod", "--realm", "shop"];
const PROMOTE = ["promote", "--from", "staging", "--to", "prod", "--realm", "shop"];

test("what differs is shown with the versions, what is equal is counted, and --json has all", async () => {
	await using server = await start();
	const { code, stdout, stderr } = await run(DIFF, { env: server.env });
	assert.equal(code, 0);
	assert.equal(
		stdout,
		"KEY    DIFFERENCE       STAGING VERSION  PROD VERSION\nGONE   only in prod                      1\nNEW    only in staging  1\nOTHER  different        2                5\n",
	);
	assert.equal(stderr, "3 different, 1 equal\n");
	const document = JSON.parse((await run([...DIFF, "--json"], { env: server.env })).stdout);
	assert.deepEqual(document, { realm: "shop", from: "staging", to: "prod", secrets: SECRETS });
	assert.equal(server.requests[0]?.url, "/api/v1/realms/shop/diff?from=staging&to=prod");
});

test("--exit-code ends with 1 when there is a difference, and with 0 when there is none", async () => {
	await using different = await start();
	await using equal = await start([row("SAME", "equal", 1, 1)]);
	assert.equal((await run([...DIFF, "--exit-code"], { env: different.env })).code, 1);
	const same = await run([...DIFF, "--exit-code"], { env: equal.env });
	assert.deepEqual([same.code, same.stdout], [0, ""]);
	assert.match(same.stderr, /^0 different, 1 equal$/m);
});

test("what is promoted is what was seen: each key with both versions, and nothing that is equal", async () => {
	await using server = await start();
	const { code, stdout } = await run([...PROMOTE, "--all", "--yes"], { env: server.env });
	assert.equal(code, 0);
	assert.match(stdout, /^2 .*\bstaging to prod of shop\n$/);
	assert.equal(server.requests[1]?.url, "/api/v1/realms/shop/promote");
	assert.deepEqual(server.requests[1]?.body, {
		from: "staging",
		to: "prod",
		secrets: [
			{ key: "NEW", from_version: 1, to_version: null },
			{ key: "OTHER", from_version: 2, to_version: 5 },
		],
	});
	await run([...PROMOTE, "OTHER", "SAME", "--yes"], { env: server.env });
	assert.deepEqual(server.requests[3]?.body, {
		from: "staging",
		to: "prod",
		secrets: [{ key: "OTHER", from_version: 2, to_version: 5 }],
	});
});

test("a person sees the plan and is asked; a script says --yes", async () => {
	await using server = await start();
	const posts = () => server.requests.filter(({ method }) => method === "POST").length;
	const no = await run([...PROMOTE, "--all"], { env: server.env, typed: ["n\r"] });
	assert.deepEqual([no.code, posts()], [1, 0]);
	assert.match(no.stderr, / prod of shop\b.* staging: add NEW, change OTHER\b.*\? \[y\/N\] /);
	const nobody = await run([...PROMOTE, "--all"], { env: server.env });
	assert.deepEqual([nobody.code, posts()], [2, 0]);
	assert.match(nobody.stderr, /--yes\b/);
	assert.equal((await run([...PROMOTE, "--all"], { env: server.env, typed: ["y\r"] })).code, 0);
	assert.equal(posts(), 1);
});

test("--dry-run shows the plan, and nothing that is equal is promoted", async () => {
	await using server = await start();
	const dry = await run([...PROMOTE, "--all", "--dry-run"], { env: server.env });
	assert.match(dry.stdout, /^add +NEW +1$/m);
	assert.match(dry.stdout, /^change +OTHER +2 +5$/m);
	assert.match(dry.stderr, /\b2 to promote\b/);
	const equal = await run([...PROMOTE, "SAME"], { env: server.env });
	assert.equal(equal.code, 0);
	assert.match(equal.stderr, /\bpromote\b/);
	const isDry = async (...args: string[]) =>
		JSON.parse((await run([...PROMOTE, "SAME", "--json", ...args], { env: server.env })).stdout).dry_run;
	assert.deepEqual([await isDry(), await isDry("--dry-run")], [false, true]);
	assert.ok(server.requests.every(({ method }) => method === "GET"));
});

test("a missing key, one environment twice, and no keys at all are refused", async () => {
	await using server = await start();
	const missing = await run([...PROMOTE, "GONE", "NONE", "--yes"], { env: server.env });
	assert.equal(missing.code, 4);
	assert.match(missing.stderr, /secrets GONE, NONE .* shop\/staging/);
	for (const argv of [
		PROMOTE,
		[...PROMOTE, "NEW", "--all"],
		[...PROMOTE, "NEW", "--to", "staging"],
		[...PROMOTE, "NEW", "--to", "x"],
		["diff", "prod", "prod", "--realm", "shop"],
		["diff", "prod", "--realm", "shop"],
	])
		assert.equal((await run(argv, { env: server.env })).code, 2, argv.join(" "));
	assert.equal(server.requests.length, 1);
});
