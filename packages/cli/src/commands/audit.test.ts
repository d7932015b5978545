import assert from "node:assert/strict";
import test from "node:test";
import { page, refusal, startService } from "../testing/fake-server.ts";
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
	const { stdout } = await run(
		["audit", "--realm", "shop", "--env", "prod", "--type", "secret.set", "--actor", "a@b", "--machine", "shop/ci"],
		{
			env: server.env,
		},
	);
	assert.equal(
		server.requests.at(-1)?.url,
		"/api/v1/audit/events?realm=shop&type=secret.set&actor=a%40b&machine=shop%2Fci&env=prod&names=true&limit=100",
	);
	assert.ok(stdout.includes("evil\\u001b]0;x\\u0007"));
});

test("a machine is named with its realm, by its name with --realm, or by its id", async () => {
	await using server = await startService(() => page("events", []));
	const sent = async (...flags: string[]) => {
		const { code } = await run(["audit", ...flags, "--json"], { env: server.env });
		return [code, new URL(server.requests.at(0)?.url ?? "", server.address).searchParams.get("machine")];
	};
	const id = "01a20930-3534-7e98-9438-e055577e2fb7";
	assert.deepEqual(await sent("--machine", "ci"), [2, null]);
	for (const [flags, machine] of [
		[["--machine", "shop/ci"], "shop/ci"],
		[["--machine", "ci", "--realm", "shop"], "shop/ci"],
		[["--machine", id, "--realm", "shop"], id],
	] as const) {
		server.requests.length = 0;
		assert.deepEqual(await sent(...flags), [0, machine]);
	}
});

test("an event names who by e-mail; on a terminal it is one line, a pipe has its facts whole, and --json its ids", async () => {
	const facts = JSON.stringify({ key: "DB_URL", environment: "prod", version: 3, note: "x".repeat(200) });
	const event = { timestamp: new Date().toISOString(), type: "secret.read", actor: "id", realm: "shop", data: facts };
	await using server = await startService(({ url }) =>
		page("events", [url.includes("names=true") ? { ...event, email: "ada@example.com" } : event]),
	);
	const { env } = server;
	const flags = ["audit", "--since", "2h", "--key", "DB_URL"];
	const shown = (await run(flags, { env: { ...env, NO_COLOR: "1" }, typed: [] })).stdout.trimEnd().split("\n");
	assert.deepEqual(shown.length, 2);
	assert.match(shown[1] ?? "", /^now +ada@example.com +secret.read +shop +DB_URL prod v3 note=x+…$/);
	assert.equal(shown[1]?.length, 100);
	for (const columns of [50, 80]) {
		const narrow = await run(flags, { env: { ...env, NO_COLOR: "1" }, typed: [], columns });
		const lines = narrow.stdout.trimEnd().split("\n");
		assert.equal(lines.length, 2);
		assert.match(lines[1] ?? "", /^now +ada@exam\S* +secret\.read +(shop +)?DB_URL/);
		assert.ok(lines.every((line) => line.length <= columns));
	}
	const wide = await run([...flags, "--wide"], { env: { ...env, NO_COLOR: "1" }, typed: [], columns: 50 });
	assert.match(wide.stdout, /^now +ada@example.com +secret.read +shop +DB_URL prod v3 note=x{200}$/m);
	const piped = (await run(flags, { env })).stdout;
	assert.ok(piped.endsWith(`${event.timestamp}  secret.read  ada@example.com  shop   ${facts}\n`), piped);
	const { events } = JSON.parse((await run([...flags, "--json"], { env, typed: [] })).stdout);
	assert.deepEqual(events, [event]);
	const since = new URL(server.requests.at(-1)?.url ?? "", server.address).searchParams.get("since") ?? "";
	assert.ok(Math.abs(Date.parse(since) - (Date.now() - 2 * 3_600_000)) < 60_000, since);
});

test("however narrow the terminal, the type of an event is whole", async () => {
	const types = ["policy.binding.created", "secret.read"];
	const events = types.map((type) => ({
		...{ timestamp: new Date(Date.now() - 720_000).toISOString(), type, actor: "id", email: "somebody@example.com" },
		...{ realm: "a-long-name-of-a-realm", data: JSON.stringify({ key: "DB_URL", environment: "prod", version: 3 }) },
	}));
	await using server = await startService(() => page("events", events));
	for (let columns = 30; columns <= 100; columns += 5) {
		const { stdout } = await run(["audit"], { env: { ...server.env, NO_COLOR: "1" }, typed: [], columns });
		for (const type of types) assert.ok(stdout.split(/\s+/).includes(type), `${columns} columns:\n${stdout}`);
		assert.ok(
			stdout.split("\n").every((line) => line.length <= columns),
			`${columns} columns:\n${stdout}`,
		);
	}
});

test("following prints each event once, the newest last, until the server refuses", async () => {
	const made = (id: number) => ({
		id: `${id}`,
		timestamp: new Date(Date.now() + id).toISOString(),
		type: "secret.read",
		actor: "a",
		realm: "r",
		data: "{}",
	});
	const [one, two, three] = [made(1), made(2), made(3)];
	const looks = [page("events", [two, one]), page("events", [three, two, one])];
	await using server = await startService(() => looks.shift() ?? refusal(401, "unauthorized", "no"));
	const { code, stdout } = await run(["audit", "--follow", "--json"], { env: server.env });
	assert.equal(code, 3);
	const seen = stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line).id);
	assert.deepEqual(seen, ["1", "2", "3"]);
});

test("a time is a duration or an instant", async () => {
	for (const [since, sent] of [
		["2030-01-31T00:00:00Z", "2030-01-31T00:00:00.000Z"],
		["2030-01-31", "2030-01-31T00:00:00.000Z"],
		["2030-01-31T01:00:00+01:00", "2030-01-31T00:00:00.000Z"],
	] as const) {
		await using server = await startService(() => page("events", []));
		await run(["audit", "--since", since], { env: server.env });
		assert.ok(server.requests[0]?.url.includes(`since=${encodeURIComponent(sent)}`) === true, sent);
	}
	for (const since of ["2", "yesterday", "2w", "2030-13-01", "2h "])
		assert.equal((await run(["audit", "--since", since], { env: { SVC_TOKEN: "t" } })).code, 2, since);
});
