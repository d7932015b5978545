/* Built-in engines as the server starts them: `svc plugin <type>`, with permission only to read the program. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const FLAGS = ["--permission", `--allow-fs-read=${ROOT}`];

/** Runs `svc plugin …` with an empty environment until it has answered the requests. */
function plugin(args: readonly string[], requests: readonly [method: string, params: object][] = []) {
	const input = requests.map(([method, params]) => `${JSON.stringify({ method, params })}\n`).join("");
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[...FLAGS, `${ROOT}/packages/svc/src/main.ts`, "plugin", ...args],
		{ input, env: {}, encoding: "utf8", timeout: 300_000 },
	);
	const lines = stdout.split("\n").filter((line) => line !== "");
	return { status, stderr, responses: lines.map((line) => JSON.parse(line)) };
}

test("the key-value engine answers, and ends with its input", () => {
	const { status, stderr, responses } = plugin(
		["keyvalue"],
		[
			["describe", {}],
			["ping", {}],
			["generate", { role: "admin", ttl: "10m" }],
			["validate", { username: "svc_0123abcd" }],
			["validate", { username: "default" }],
		],
	);
	assert.deepEqual([status, stderr], [0, ""]);
	const [described, pinged, { data }, revoked, refused] = responses;
	assert.deepEqual([described.data.name, described.data.version], ["keyvalue", "0.1.0"]);
	assert.deepEqual(pinged, { data: { status: "healthy" } });
	assert.equal(data.kv_command, `ACL SETUSER ${data.username} on >${data.password} ~* +@all`);
	assert.equal(revoked.data.kv_command, "ACL DELUSER svc_0123abcd");
	assert.match(refused.error, /^refusing to delete a non-managed user/);
});

test("the document database engine answers, and ends with its input", () => {
	const { status, stderr, responses } = plugin(
		["documentdb"],
		[
			["describe", {}],
			["ping", {}],
			["generate", { role: "readWrite", database: "shop" }],
			["validate", { username: "svc_0123abcd" }],
			["validate", { username: "root" }],
		],
	);
	assert.deepEqual([status, stderr], [0, ""]);
	const [described, pinged, { data }, revoked, refused] = responses;
	assert.deepEqual([described.data.name, described.data.version], ["documentdb", "0.1.0"]);
	assert.deepEqual(pinged, { data: { status: "healthy" } });
	assert.deepEqual([data.doc_command.createUser, data.doc_command.pwd], [data.username, data.password]);
	assert.deepEqual(data.doc_command.roles, [{ role: "readWrite", db: "shop" }]);
	assert.deepEqual(revoked.data.doc_command, { dropUser: "svc_0123abcd" });
	assert.match(refused.error, /^refusing to drop a non-managed user/);
});

test("what is no built-in engine is refused with those that are", () => {
	for (const args of [[], ["redis"], ["constructor"], ["../keyvalue"], ["keyvalue", "now"]]) {
		const { status, stderr, responses } = plugin(args);
		assert.deepEqual([status, responses], [2, []]);
		assert.match(stderr, /^svc: .*: containerorch, documentdb, keyvalue, pki, totp\n$/);
	}
});
