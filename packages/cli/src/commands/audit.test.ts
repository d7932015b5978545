import assert from "node:assert/strict";
import test from "node:test";
import { startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

for (const status of ["intact", "altered", "truncated", "something new"]) {
	test(`verifying an audit log that is ${status} ends with ${status === "intact" ? 0 : 1}`, async () => {
		const body = { status, events: 3, checkpoints: 1, last_seq: 3, last_hash: "ab", message: "m" };
		await using server = await startService(() => ({ body }));
		const { code, stdout } = await run(["audit", "verify", "--json"], { env: server.env });
		assert.equal(code, status === "intact" ? 0 : 1);
		assert.deepEqual(JSON.parse(stdout), body);
	});
}

test("audit lists as many events as are wanted, over as many pages as it takes", async () => {
	const event = {
		id: "e",
		timestamp: "t",
		type: "secret.set",
		actor: "evil\u001b]0;x\u0007",
		realm: "shop",
		data: "{}",
	};
	await using server = await startService(({ url }) => ({
		body: {
			events: Array.from({ length: 100 }, () => event),
			pagination: url.includes("cursor=2")
				? { has_more: false }
				: { has_more: true, next_cursor: url.includes("cursor=1") ? "2" : "1" },
		},
	}));
	const lengthOf = async (...flags: string[]) =>
		JSON.parse((await run(["audit", ...flags, "--json"], { env: server.env })).stdout).events.length;
	assert.deepEqual(
		[await lengthOf(), await lengthOf("list", "--limit", "150"), await lengthOf("--all")],
		[50, 150, 300],
	);
	assert.equal(server.requests.length, 1 + 2 + 3);
	const { stdout } = await run(["audit", "--realm", "shop", "--type", "secret.set", "--actor", "a@b"], {
		env: server.env,
	});
	assert.equal(server.requests.at(-1)?.url, "/api/v1/audit/events?realm=shop&type=secret.set&actor=a%40b&limit=100");
	assert.ok(stdout.includes("evil\\u001b]0;x\\u0007"));
});
