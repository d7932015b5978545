import assert from "node:assert/strict";
import test from "node:test";
import { page, startFake } from "../testing/fake-server.ts";
import { parseAddress } from "./address.ts";
import { createClient, path, send } from "./client.ts";
import { listAll } from "./pages.ts";

const clientOf = (address: string, timeoutMs?: number) =>
	createClient({ address, trust: undefined, token: "t" }, timeoutMs);

const ADDRESSES: readonly (readonly [given: string, address: string | undefined])[] = [
	["https://VAULT.example.com:443/", "https://vault.example.com"],
	["https://vault.example.com:8443/svc/", "https://vault.example.com:8443/svc"],
	["http://localhost:8080", "http://localhost:8080"],
	["http://127.8.9.1:80", "http://127.8.9.1"],
	["http://[::1]:8080", "http://[::1]:8080"],
	["http://127.0.0.1.example.com", undefined],
	["http://10.0.0.1", undefined],
	["ftp://127.0.0.1", undefined],
	["https://a@b.example", undefined],
	["https://b.example/?x", undefined],
	["127.0.0.1:8443", undefined],
];

for (const [given, address] of ADDRESSES) {
	test(`the address ${given} is ${address ?? "refused"}`, () => {
		if (address === undefined) assert.throws(() => parseAddress(given), { exitCode: 2 });
		else assert.equal(parseAddress(given), address);
	});
}

test("every value is one segment of a path", () => {
	assert.equal(path`realms/${"shop"}/secrets/${"a/b c?#%ü"}`, "realms/shop/secrets/a%2Fb%20c%3F%23%25%C3%BC");
	assert.throws(() => path`realms/${""}`, { exitCode: 2 });
});

test("a list is followed to its end with the largest pages", async () => {
	const answers: Record<string, unknown> = {
		"/api/v1/x?env=dev&limit=100": { rows: [{ n: 1 }, { n: 2 }], pagination: { has_more: true, next_cursor: "a+/=" } },
		"/api/v1/x?env=dev&limit=100&cursor=a%2B%2F%3D": { rows: [], pagination: { has_more: true, next_cursor: "b" } },
		"/api/v1/x?env=dev&limit=100&cursor=b": { rows: [{ n: 3 }], pagination: { has_more: false } },
	};
	await using server = await startFake(({ url }) => ({ body: answers[url] }), { plain: true });
	assert.deepEqual(await Array.fromAsync(listAll(clientOf(server.address), "x", "rows", { env: "dev" })), [
		{ n: 1 },
		{ n: 2 },
		{ n: 3 },
	]);
});

test("a list that leads in a circle is abandoned", async () => {
	await using server = await startFake(
		() => ({ body: { rows: [], pagination: { has_more: true, next_cursor: "a" } } }),
		{ plain: true },
	);
	await assert.rejects(Array.fromAsync(listAll(clientOf(server.address), "x", "rows")), {
		exitCode: 5,
		code: "unexpected_answer",
	});
	assert.equal(server.requests.length, 2);
});

test("a list whose end is not needed is not read to its end", async () => {
	await using server = await startFake(
		() => ({ body: { rows: [{}], pagination: { has_more: true, next_cursor: "a" } } }),
		{ plain: true },
	);
	for await (const _ of listAll(clientOf(server.address), "x", "rows")) break;
	assert.equal(server.requests.length, 1);
});

test("a server that does not answer in time is abandoned, and a write is said to be uncertain", async () => {
	await using server = await startFake(() => new Promise<never>(() => {}), { plain: true });
	const client = clientOf(server.address, 1000);
	await assert.rejects(send(client, { method: "GET", path: "x" }), {
		exitCode: 5,
		message: / 1 s$/,
	});
	await assert.rejects(send(client, { method: "POST", path: "x" }), {
		exitCode: 5,
		message: /\bmay or may not\b/,
	});
	assert.equal(server.requests.length, 2);
});

test("an answer over 64 MiB is not read to its end", async () => {
	await using server = await startFake(() => ({ body: `"${" ".repeat(64 * 1024 * 1024)}"` }), { plain: true });
	await assert.rejects(send(clientOf(server.address), { method: "GET", path: "x" }), {
		exitCode: 5,
		code: "unexpected_answer",
	});
});

test("a base path of the address comes before every path", async () => {
	await using server = await startFake(() => page("rows", []), { plain: true });
	await send(clientOf(`${server.address}/svc`), { method: "GET", path: "health" });
	assert.equal(server.requests[0]?.url, "/svc/api/v1/health");
});
