import assert from "node:assert/strict";
import test from "node:test";
import { page, refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const SESSION = { id: "s1", provider: "", created_at: "t", expires_at: "e" };
const TOKEN = { id: "t1", name: "deploy", prefix: "svc_aaaa", scopes: "read", created_at: "t" };

const start = () =>
	startService(({ method, url }) => {
		if (method === "DELETE") return { body: { message: "ended" } };
		if (url.startsWith("/api/v1/users/u1/sessions?")) return page("sessions", [SESSION]);
		if (url.startsWith("/api/v1/users/u1/tokens?")) return page("tokens", [TOKEN]);
		return url === "/api/v1/users/ada%40example.com"
			? { body: { id: "u1", email: "ada@example.com" } }
			: refusal(404, "not_found", "user not found");
	});
const deleted = ({ requests }: Awaited<ReturnType<typeof start>>) =>
	requests.filter(({ method }) => method === "DELETE").map(({ url }) => url.replace("/api/v1/", ""));

test("sessions and tokens of somebody are listed by their e-mail", async () => {
	await using server = await start();
	const list = (noun: string) => run([noun, "list", "--user", "ada@example.com"], { env: server.env });
	assert.match((await list("session")).stdout, /^s1 +password +t +e$/m);
	assert.match((await list("token")).stdout, /^t1 +svc_aaaa +deploy +read +t$/m);
	assert.equal((await run(["token", "list", "--user", "bob"], { env: server.env })).code, 4);
});

test("one session of somebody is ended by its id, and one token by its name", async () => {
	await using server = await start();
	const of = (...words: string[]) => run([...words, "--user", "ada@example.com"], { env: server.env });
	assert.deepEqual(await of("session", "end", "s1").then(({ code, stdout }) => [code, stdout]), [0, "ended\n"]);
	assert.deepEqual(await of("token", "revoke", "deploy").then(({ code, stdout }) => [code, stdout]), [0, "ended\n"]);
	assert.equal((await of("token", "revoke", "other")).code, 4);
	assert.deepEqual(deleted(server), ["users/u1/sessions/s1", "users/u1/tokens/t1"]);
});

test("an unknown account ends nothing, your own sessions and tokens least of all", async () => {
	await using server = await start();
	for (const words of [
		["session", "end", "s1"],
		["token", "revoke", "deploy"],
	])
		assert.equal((await run([...words, "--user", "bob"], { env: server.env })).code, 4);
	assert.equal((await run(["session", "end", "s1", "--user", ""], { env: server.env })).code, 2);
	assert.deepEqual(deleted(server), []);
});
