import assert from "node:assert/strict";
import test from "node:test";
import { fingerprintOfIdentity, identityOf, page, refusal, startFake, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const secret = (key: string, expires_at: string | null) => ({ key, environment: "prod", version: 1, expires_at });
const token = (name: string, expires_at: string | null) => ({ name, environment: null, expires_at });

const machineToken = (name: string, expires_at: string, created_by = "u") => ({
	name,
	prefix: "svc_1a2b3c4d",
	created_by,
	expires_at,
});
const MACHINE_TOKENS = [
	machineToken("release", inDays(2)),
	machineToken("", inDays(3)),
	machineToken("later", inDays(80)),
	machineToken("ended", inDays(-31)),
	machineToken("by-a-trust", inDays(0.01), ""),
];

function answer(url: string) {
	if (url.startsWith("/api/v1/realms?")) return page("realms", [{ slug: "shop" }, { slug: "closed" }]);
	if (url.startsWith("/api/v1/realms/shop/machines?"))
		return page("machines", [
			{ name: "deploy", environment: "prod" },
			{ name: "cache", environment: null },
		]);
	if (url.startsWith("/api/v1/realms/shop/machines/deploy/tokens?")) return page("tokens", MACHINE_TOKENS);
	if (url.startsWith("/api/v1/realms/shop/machines/deploy/trusts?"))
		return page("trusts", [
			{ name: "ci", keys_host: "id.example.com" },
			{ name: "given", keys_host: null },
		]);
	if (url === "/api/v1/realms/shop/machines/deploy/trusts/ci") return { body: { ca_cert: identityOf("first").cert } };
	if (url.startsWith("/api/v1/realms/shop/machines/cache/trusts?")) return page("trusts", []);
	if (url.startsWith("/api/v1/realms/shop/machines/")) return page("tokens", []);
	if (url.startsWith("/api/v1/realms/shop/")) {
		const keys = [
			secret("LATE", inDays(15)),
			secret("SOON", inDays(13)),
			secret("ENDED", inDays(-2)),
			secret("NONE", null),
		];
		return page("secrets", keys);
	}
	if (url.startsWith("/api/v1/realms/")) return refusal(403, "forbidden", "not allowed");
	return page("tokens", [token("ci", inDays(1)), token("old", null), token("next", inDays(29))]);
}

test("what ends soon is shown in order, what has ended first, and what nobody may see is named", async () => {
	await using server = await startService(({ url }) => answer(url));
	const { code, stdout, stderr } = await run(["expiring"], { env: server.env });
	assert.equal(code, 0, stderr);
	const words = stdout.split("\n").map((line) => line.split(/ +/).slice(1).join(" "));
	assert.deepEqual(words, [
		"WHAT NAME REALM ENV",
		"secret ENDED shop prod",
		"token ci",
		"machine token deploy release shop prod",
		"machine token deploy svc_1a2b3c4d shop prod",
		"secret SOON shop prod",
		"",
	]);
	assert.match(stderr, /: secrets of closed, machines of closed\n$/);
	const asked = server.requests.filter(({ url }) => url.includes("/secrets?"));
	assert.ok(
		asked.every(({ url }) => url.includes("values=false")),
		"no value is asked for",
	);

	const json = await run(["expiring", "--within", "30d", "--json"], { env: server.env });
	const { expiring, unseen } = JSON.parse(json.stdout);
	assert.deepEqual(
		expiring.map(({ name }: { name: string }) => name),
		["ENDED", "ci", "deploy release", "deploy svc_1a2b3c4d", "SOON", "LATE", "next"],
	);
	assert.deepEqual(unseen, ["secrets of closed", "machines of closed"]);
});

test("an authority that a trust names for its issuer is shown with its end", async () => {
	await using server = await startService(({ url }) => answer(url));
	const { stdout } = await run(["expiring", "--within", "99999d", "--realm", "shop"], { env: server.env });
	assert.match(stdout, /^2126-10-28T\S+ +authority +deploy ci +shop +prod$/m);
});

test("somebody who may not see the machines of a realm still sees its secrets", async () => {
	await using server = await startService(({ url }) =>
		url.includes("/machines") ? refusal(403, "forbidden", "your role is viewer") : answer(url),
	);
	const { code, stdout, stderr } = await run(["expiring", "--realm", "shop"], { env: server.env });
	assert.equal(code, 0);
	assert.match(stderr, /: machines of shop\n$/);
	assert.match(stdout, / SOON /);
});

test("a realm that is named must be seen, and trouble is never taken for nothing", async () => {
	await using server = await startService(({ url }) => answer(url));
	const { code, stdout } = await run(["expiring", "--realm", "closed"], { env: server.env });
	assert.deepEqual([code, stdout], [3, ""]);
	await using sick = await startService(({ url }) =>
		url.includes("/secrets") ? refusal(503, "unavailable", "the server is stopping") : answer(url),
	);
	assert.equal((await run(["expiring"], { env: sick.env })).code, 5);
	await using old = await startService(({ url }) =>
		url.includes("/secrets") ? page("secrets", [{ key: "A", environment: "dev" }]) : answer(url),
	);
	assert.match((await run(["expiring"], { env: old.env })).stderr, /\bexpires_at\b/);
});

test("nothing that ends is said so, and the server's certificate is looked at", async () => {
	await using server = await startFake(({ url }) => page(url.includes("/realms") ? "realms" : "tokens", []));
	const env = { SVC_TOKEN: "svc_a", SVC_ADDRESS: server.address, SVC_FINGERPRINT: fingerprintOfIdentity("first") };
	const none = await run(["expiring", "--within", "1s"], { env });
	assert.deepEqual([none.code, none.stdout], [0, ""]);
	assert.match(none.stderr, / 1s\n$/);
	const all = await run(["expiring", "--within", "99999d"], { env });
	assert.match(all.stdout, new RegExp(`certificate +${server.address}`));
});
