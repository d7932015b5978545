import assert from "node:assert/strict";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const MASTER = { fingerprint: "0123456789abcdef", origin: "file", file: "/k\u001b", next: "" };
const STATUS = {
	master: MASTER,
	keys: [{ id: "aa", purpose: "record", state: "active", created_at: "t" }],
	realm_keys: { active: 2, retired: 1 },
};

const start = (status: object = STATUS) =>
	startService(({ method, body }) => {
		if (method === "GET") return { body: status };
		const { purpose } = body as { purpose: string };
		return { body: { id: `new-${purpose}`, previous: "", message: "keep it" } };
	});
const posted = ({ requests }: Awaited<ReturnType<typeof start>>) =>
	requests.filter(({ method }) => method === "POST").map(({ body }) => body);

test("the status shows the master key's name and place, and the keys, in one document with --json", async () => {
	await using server = await start({ ...STATUS, master: { ...MASTER, next: "ffff" } });
	const { code, stdout } = await run(["keys", "status", "--realm", "shop"], { env: server.env });
	assert.equal(code, 0);
	assert.equal(
		stdout,
		"master key      0123456789abcdef\nfrom            file /k\\u001b\nnext            ffff\nkeys of realms  2 active, 1 retired\n" +
			"PURPOSE  STATE   ID  CREATED\nrecord   active  aa  t\n",
	);
	assert.equal(server.requests[0]?.url, "/api/v1/keys?realm=shop");
	const json = await run(["keys", "status", "--json"], { env: server.env });
	assert.deepEqual(JSON.parse(json.stdout).keys, STATUS.keys);
});

test("a master key is replaced after a warning about what the backups need", async () => {
	await using server = await start();
	const rotate = ["keys", "rotate", "--master"];
	const no = await run(rotate, { env: server.env, typed: ["n\n"] });
	assert.deepEqual([no.code, posted(server)], [1, []]);
	assert.match(no.stderr, /0123456789abcdef \(\/k\\u001b\).*\bBackups\b.*\bcopy\b/);
	const alone = await run(rotate, { env: server.env });
	assert.deepEqual([alone.code, /needs --yes/.test(alone.stderr), posted(server)], [2, true, []]);
	const yes = await run(rotate, { env: server.env, typed: ["y\n"] });
	assert.equal(yes.code, 0);
	assert.match(yes.stdout, /\bnew-master\b/);
	assert.deepEqual(posted(server), [{ purpose: "master" }]);
});

test("data keys are those of the instance, one after the other, or the one of a realm", async () => {
	await using server = await start();
	const { stdout } = await run(["keys", "rotate", "--data", "--yes", "--json"], { env: server.env });
	const purposes = ["record", "portable", "session", "checkpoint", "cursor", "rows"];
	assert.deepEqual(
		JSON.parse(stdout).rotated.map(({ id }: { id: string }) => id),
		purposes.map((purpose) => `new-${purpose}`),
	);
	assert.equal((await run(["keys", "rotate", "--data", "--realm", "shop", "--yes"], { env: server.env })).code, 0);
	assert.deepEqual(posted(server), [...purposes.map((purpose) => ({ purpose })), { purpose: "record", realm: "shop" }]);
	for (const wrong of [[], ["--master", "--data"], ["--master", "--realm", "shop"]])
		assert.equal((await run(["keys", "rotate", "--yes", ...wrong], { env: server.env })).code, 2, wrong.join(" "));
	assert.equal(posted(server).length, 7);
});

test("keys that were replaced before one failed are shown, too", async () => {
	await using server = await startService(({ body }) => {
		const { purpose } = body as { purpose: string };
		return purpose === "session"
			? refusal(503, "unhealthy", "the disk is full")
			: { body: { id: `new-${purpose}`, previous: "", message: "replaced" } };
	});
	const rotate = (...args: string[]) => run(["keys", "rotate", "--data", "--yes", ...args], { env: server.env });
	const { code, stdout, stderr } = await rotate();
	assert.match(stdout, /^record\b.* new-record\b.*\nportable\b.* new-portable\b.*\n$/);
	assert.equal(code, 5);
	assert.match(stderr, /^svc: the disk is full\n/);
	assert.equal(JSON.parse((await rotate("--json")).stdout).rotated.length, 2);
});
