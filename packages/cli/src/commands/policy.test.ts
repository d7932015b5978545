import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const WHY = { allowed: true, reason: "the role viewer has it", command: "" };
const EXPLAINED = {
	...{ realm: "shop", user_id: "u1", role: "viewer", is_owner: false, instance_admin: true, disabled: false },
	token: { scopes: "read", environment: "prod", expires_at: "" },
	verdicts: [
		{ capability: "secrets:read", scope: "read", ...WHY },
		{
			capability: "secrets:write",
			scope: "write",
			allowed: false,
			reason: "no\u001b",
			command: "svc binding add u1 member",
		},
		{
			capability: "secrets:delete",
			scope: "delete",
			allowed: false,
			reason: "no",
			command: "svc binding add u1 member",
		},
	],
};

test("what somebody may do is a table, and what is missing a command that is named once", async () => {
	await using server = await startService(() => ({ body: EXPLAINED }));
	const words = [
		"policy",
		"explain",
		"--realm",
		"shop",
		"--user",
		"a@b",
		"--capability",
		"secrets:write",
		"--env",
		"prod",
	];
	const { code, stdout, stderr } = await run(words, { env: server.env });
	assert.equal(code, 0);
	const query = "realm=shop&user=a%40b&capability=secrets%3Awrite&env=prod&names=true";
	assert.equal(server.requests[0]?.url, `/api/v1/policy/explain?${query}`);
	assert.match(stdout, /^role +viewer\ninstance admin +yes.*\ntoken +read prod\nCAPABILITY/m);
	assert.match(stdout, /^secrets:read +read +yes .*\nsecrets:write +write +no +no\\u001b\n/m);
	assert.deepEqual(stderr.match(/\bsvc binding add u1 member\b/g)?.length, 1);
	const json = await run(["policy", "explain", "--json"], { env: { ...server.env, SVC_REALM: "shop" } });
	assert.deepEqual([JSON.parse(json.stdout), json.stderr], [EXPLAINED, ""]);
	assert.equal(server.requests[1]?.url, "/api/v1/policy/explain?realm=shop&names=true");
});

test("an owner without a binding is shown as admin, and somebody without a role as that", async () => {
	const answers = [
		{ ...EXPLAINED, role: "admin", is_owner: true, token: null, instance_admin: false },
		{ ...EXPLAINED, role: "", disabled: true },
	];
	await using server = await startService(() => ({ body: answers.shift() }));
	const explain = async () => (await run(["policy", "explain", "--realm", "shop"], { env: server.env })).stdout;
	assert.match(await explain(), /^role +admin \(owner\)\nCAPABILITY/m);
	assert.match(await explain(), /^role +none\n.*\naccount +disabled\n/m);
});
