import assert from "node:assert/strict";
import test from "node:test";
import { page, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

test("leases are listed of one realm, or of all when none is named or all are wanted", async () => {
	await using server = await startService(() => page("leases", []));
	const env = { ...server.env, SVC_REALM: "shop" };
	await run(["lease", "list"], { env });
	await run(["lease", "list", "--realm", "till"], { env });
	await run(["lease", "list", "--all-realms"], { env });
	const { stderr } = await run(["lease", "list"], { env: server.env });
	assert.match(stderr, /^no leases/);
	assert.deepEqual(
		server.requests.map(({ url }) => url.replace(/\?.*/, "")),
		["/api/v1/realms/shop/leases", "/api/v1/realms/till/leases", "/api/v1/leases", "/api/v1/leases"],
	);
});

test("every list of leases has a column for the user; only the list of all realms has one for the realm", async () => {
	const lease = { id: "i", realm: "shop", engine: "e", state: "active", email: "b@c.d" };
	await using server = await startService(() => page("leases", [lease]));
	const heads = async (...args: string[]) =>
		(await run(["lease", "list", ...args], { env: server.env })).stdout.split("\n").slice(0, 2);
	assert.deepEqual(await heads(), [
		"ID  REALM  ENGINE  ROLE  NAME  FOR    STATE   EXPIRES",
		"i   shop   e                   b@c.d  active",
	]);
	assert.deepEqual(await heads("--realm", "shop"), [
		"ID  ENGINE  ROLE  NAME  FOR    STATE   EXPIRES",
		"i   e                   b@c.d  active",
	]);
});

test("a list continues as long as there are pages", async () => {
	const lease = { id: "i", engine: "e", state: "intent", role: null, name: null, expires_at: null };
	await using server = await startService(({ url }) => ({
		body: {
			leases: [lease, lease],
			pagination: url.includes("cursor=") ? { has_more: false } : { has_more: true, next_cursor: "c" },
		},
	}));
	const { stdout } = await run(["lease", "list", "--json"], { env: server.env });
	assert.equal(JSON.parse(stdout).leases.length, 4);
});

test("a caller who may not see all leases learns to name a realm", async () => {
	await using server = await startService(() => refusal(403, "forbidden", "only instance admins"));
	const { code, stderr } = await run(["lease", "list"], { env: server.env });
	assert.equal(code, 3);
	assert.match(stderr, /\nhint: --realm, SVC_REALM\b/);
});

test("a revocation that has to wait says how to see its end", async () => {
	await using server = await startService(({ url }) => ({
		status: url.endsWith("queued") ? 202 : 200,
		body: { message: "as it is" },
	}));
	const revoke = (id: string, ...more: string[]) =>
		run(["lease", "revoke", id, "--realm", "shop", ...more], { env: server.env });
	assert.deepEqual(await revoke("done").then(({ code, stderr }) => [code, stderr]), [0, ""]);
	const queued = await revoke("queued");
	assert.deepEqual([queued.code, queued.stdout], [0, "as it is\n"]);
	assert.match(queued.stderr, /`svc lease show queued --realm shop`/);
	assert.deepEqual(JSON.parse((await revoke("queued", "--json")).stdout), { message: "as it is" });
});

test("all leases are revoked on a terminal only after a yes, and never by SVC_REALM alone", async () => {
	await using server = await startService(() => ({ body: { count: 2 } }));
	const env = { ...server.env, SVC_REALM: "shop" };
	assert.equal((await run(["lease", "revoke-all", "--yes"], { env })).code, 2);
	const refused = await run(["lease", "revoke-all", "--realm", "shop", "--engine", "u\u001b"], { env, typed: ["\n"] });
	assert.equal(refused.code, 1);
	assert.match(refused.stderr, / realm shop\b.* engine u\\u001b\? \[y\/N\] /);
	assert.equal(server.requests.length, 0);
	assert.equal((await run(["lease", "revoke-all", "--engine", "pki"], { env, typed: ["y\n"] })).code, 0);
	assert.deepEqual(server.requests[0]?.body, { engine: "pki" });
});

test("a user's leases are revoked by e-mail or id; an unknown user is an error, and nothing is revoked", async () => {
	await using server = await startService(({ method, url }) => {
		if (method === "POST") return { body: { count: 2 } };
		const isThere = ["ada%40example.com", "u1"].includes(url.replace("/api/v1/users/", ""));
		return isThere ? { body: { id: "u1", email: "ada@example.com" } } : refusal(404, "not_found", "user not found");
	});
	const revoke = (user: string, typed: string) =>
		run(["lease", "revoke-all", "--user", user], { env: server.env, typed: [typed] });
	const posted = () => server.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
	assert.equal((await revoke("bob@example.com", "y\n")).code, 4);
	assert.deepEqual(posted(), []);
	assert.match((await revoke("u1", "y\n")).stderr, / user ada@example\.com\? \[y\/N\] /);
	assert.equal((await revoke("ada@example.com", "y\n")).code, 0);
	assert.deepEqual(posted(), [{ user_id: "u1" }, { user_id: "u1" }]);
});
