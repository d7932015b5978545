import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { page, refusal, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

const GONE = refusal(404, "not_found", "trust not found: `svc machine trust list` shows those of the machine");
const TRUST = {
	...{ id: "i", name: "github", type: "github", issuer: "https://id.example.com", trust_domain: null, audience: "a" },
	...{ claims: { repository_id: "2002", protected: true }, max_ttl: "1h", single_use: true },
	...{ keys_host: "id.example.com", created_by: "u", created_by_email: "ada@example.com", created_at: "t" },
};

/** A server that has no trusts, and sets any. */
const empty = () =>
	startService(({ method, body }) => (method === "GET" ? GONE : { body: { ...TRUST, ...(body as object) } }));

const IDS = ["--repository-id", "2002", "--repository-owner-id", "1001"];

/** Trusts by the words that make them, and the claims that they name. */
const EXACT: readonly (readonly [words: string[], type: string | undefined, claims: object])[] = [
	[
		["github", "deploy", ...IDS, "--branch", "main"],
		"github",
		{ repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main", event_name: "push" },
	],
	[
		["github", "deploy", ...IDS, "--tag", "v1", "--environment", "production"],
		"github",
		{ repository_id: "2002", repository_owner_id: "1001", ref: "refs/tags/v1", environment: "production" },
	],
	[
		["github", "deploy", ...IDS, "--any-ref", "--environment", "production", "--workflow", "octo/shop/a.yml@main"],
		"github",
		{
			...{ repository_id: "2002", repository_owner_id: "1001", environment: "production" },
			job_workflow_ref: "octo/shop/a.yml@main",
		},
	],
	[
		["github", "deploy", ...IDS, "--branch", "main", "--event", "schedule"],
		"github",
		{ repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main", event_name: "schedule" },
	],
	[
		["gitlab", "deploy", "--project-id", "22", "--branch", "main", "--environment", "prod"],
		"gitlab",
		{
			...{ project_id: "22", ref_path: "refs/heads/main", ref_protected: "true" },
			...{ environment: "prod", environment_protected: "true" },
		},
	],
	[
		["kubernetes", "deploy", "--service-account-uid", "uid", "--namespace", "shop", "--issuer", "https://k8s.example"],
		"kubernetes",
		{ "/kubernetes.io/serviceaccount/uid": "uid", "/kubernetes.io/namespace": "shop" },
	],
	[
		["oidc", "deploy", "--issuer", "https://id.example.com", "--claim", "sub=a=b", "--claim", "ssh=false"],
		undefined,
		{ sub: "a=b", ssh: false },
	],
];

test("each platform's options become exact claims, for the server's own address", async () => {
	for (const [words, type, claims] of EXACT) {
		await using server = await empty();
		const { code, stderr } = await run(["machine", "trust", "add", ...words, "--realm", "shop"], server);
		assert.equal(code, 0, stderr);
		const sent = server.requests.at(-1);
		const body = sent?.body as { type?: string; claims: object; audience: string; issuer: string };
		assert.equal(sent?.url, `/api/v1/realms/shop/machines/deploy/trusts/${words[0]}`);
		assert.deepEqual([body.type, body.claims], [type, claims]);
		assert.equal(body.audience, server.env.SVC_ADDRESS);
		assert.match(body.issuer, /^https:/);
		assert.match(stderr, /SVC_MACHINE=shop\/deploy/);
	}
});

/** Words that would let more in than one workload, and a part of what svc says. */
const LOOSE: readonly (readonly [words: string[], says: RegExp])[] = [
	[["github", "deploy", "--repository-id", "2002", "--branch", "main"], /--repository-owner-id/],
	[["github", "deploy", "--repository-id", "octo/shop", "--repository-owner-id", "1", "--branch", "main"], /a number/],
	[["github", "deploy", ...IDS], /\bevery branch\b/],
	[["github", "deploy", ...IDS, "--environment", "production"], /\bevery branch\b/],
	[["github", "deploy", ...IDS, "--any-ref"], /needs --environment/],
	[["github", "deploy", ...IDS, "--branch", "release/*"], /\bas it is\b/],
	[["github", "deploy", ...IDS, "--branch", "refs/heads/main"], /without refs/],
	[["github", "deploy", ...IDS, "--branch", "main", "--tag", "v1"], /exclude each other/],
	[["gitlab", "deploy", "--project-id", "22"], /--branch or --tag\b/],
	[["gitlab", "deploy", "--project-id", "octo/shop", "--branch", "main"], /a number/],
	[["kubernetes", "deploy", "--issuer", "https://k8s.example"], /--service-account-uid/],
	[["oidc", "deploy", "--issuer", "https://id.example.com"], /--claim/],
	[["oidc", "deploy", "--issuer", "https://id.example.com", "--claim", "sub"], /name=value/],
];

test("loose options are refused before anything is asked", async () => {
	await using server = await empty();
	for (const [words, says] of LOOSE) {
		const { code, stderr } = await run(["machine", "trust", "add", ...words, "--realm", "shop"], server);
		assert.equal(code, 2, words.join(" "));
		assert.match(stderr, says);
	}
	assert.deepEqual(server.requests, []);
});

test("keys and an authority come from files, and a trust domain stands for an issuer", async () => {
	await using folder = await temporaryFolder();
	const [keys, bad, ca] = ["keys.json", "bad.json", "ca.pem"].map((name) => join(folder.path, name)) as [
		string,
		string,
		string,
	];
	await writeFile(keys, '{"keys":[{"kty":"EC"}],"spiffe_sequence":1}');
	await writeFile(bad, "CANARY");
	await writeFile(ca, "PEM");
	await using server = await empty();
	const add = (...more: string[]) =>
		run(
			["machine", "trust", "add", "oidc", "web", "--realm", "shop", "--claim", "sub=spiffe://a/web", ...more],
			server,
		);
	await add("--trust-domain", "a", "--keys", keys, "--reusable", "--max-ttl", "10m", "--name", "mesh");
	const { claims: _, audience: __, ...body } = (server.requests.at(-1)?.body ?? {}) as Record<string, unknown>;
	assert.deepEqual(body, { trust_domain: "a", single_use: false, max_ttl: "10m", jwks: { keys: [{ kty: "EC" }] } });
	await add("--issuer", "https://a", "--ca-cert", ca, "--audience", "svc-shop");
	const sent = server.requests.at(-1)?.body as Record<string, unknown>;
	assert.deepEqual([sent.ca_cert, sent.audience], ["PEM", "svc-shop"]);
	const refused = await add("--issuer", "https://a", "--keys", bad);
	assert.deepEqual([refused.code, /CANARY/.test(refused.stderr)], [2, false]);
});

test("a trust that is there is replaced with --change only", async () => {
	await using server = await startService(() => ({ body: TRUST }));
	const words = ["machine", "trust", "add", "github", "deploy", "--realm", "shop", ...IDS, "--branch", "main"];
	const refused = await run(words, server);
	assert.equal(refused.code, 1);
	assert.match(refused.stderr, /\nhint: --change\b/);
	const changed = await run([...words, "--change"], server);
	assert.deepEqual([changed.code, changed.stderr], [0, ""]);
	assert.match(changed.stdout, /^shop\/deploy .* a .*\brepository_id="2002" protected=true\n$/);
});

test("trusts are listed and shown with their claims, and removed after a question", async () => {
	const spiffe = {
		...TRUST,
		name: "mesh",
		issuer: null,
		trust_domain: "a.example",
		keys_host: null,
		single_use: false,
	};
	await using server = await startService(({ method, url }) => {
		if (method === "DELETE") return { body: { message: "trust removed" } };
		return url.includes("limit") ? page("trusts", [TRUST, spiffe]) : { body: spiffe };
	});
	const trust = (...words: string[]) => run(["machine", "trust", ...words, "--realm", "shop"], server);
	const { stdout } = await trust("list", "deploy");
	assert.deepEqual(
		stdout.split("\n").map((line) => line.split(/ {2,}/)[2]),
		["ISSUER", "https://id.example.com", "spiffe://a.example", undefined],
	);
	assert.match(stdout, /^github .* repository_id="2002" protected=true .* ada@example\.com$/m);
	const shown = (await trust("show", "deploy", "mesh")).stdout;
	assert.match(shown, /^keys +given$/m);
	assert.match(shown, / until it ends$/m);
	assert.equal((await trust("remove", "deploy", "mesh", "--yes")).code, 0);
	assert.equal(server.requests.at(-1)?.url, "/api/v1/realms/shop/machines/deploy/trusts/mesh");
});
