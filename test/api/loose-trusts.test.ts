/* Trusts that would let in more than one workload. Design: §15 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { machine } from "../harness/fixtures.ts";
import type { Trust } from "../harness/resources.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Server, startServer } from "../harness.ts";
import { newKey } from "../peers/issuer.ts";

const AUDIENCE = "https://svc.example.com";
const GITHUB_ISSUER = "https://token.actions.githubusercontent.com";

let server: Server;
let world: World;

before(async () => {
	server = await startServer();
	world = await createWorld(api(server));
});
after(() => server.close());

const key = newKey("ES256", "own");
const GITHUB = { repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main", event_name: "push" };
const GITLAB = { project_id: "22", ref_path: "refs/heads/main", ref_protected: "true" };

/** A trust whose keys are given, so that no issuer is asked. */
const given = (more: object = {}) => ({
	...{ issuer: "https://id.example.com", audience: AUDIENCE, claims: { sub: "deploy" }, jwks: { keys: [key.jwk] } },
	...more,
});
const github = (more: object = {}) => given({ issuer: GITHUB_ISSUER, claims: GITHUB, ...more });

const sub = (text: string) => ({ claims: { sub: text } });

/** Trusts that are refused, and a part of what the server says. */
const LOOSE: readonly (readonly [what: string, body: () => object, says: RegExp])[] = [
	["an e-mail by pointer", () => given({ claims: { "/email": "ada@example.com" } }), /\bsub\b/],
	["the audience by pointer", () => given({ claims: { "/aud": "svc" } }), /\baud\b/],
	["a boolean alone", () => given({ claims: { protected: true } }), /\bsub\b/],
	[
		"GitHub without the owner's id",
		() => github({ claims: { repository_id: "1", event_name: "push" } }),
		/repository_id, repository_owner_id/,
	],
	[
		"GitHub by sub alone",
		() => github(sub("repo:octo/shop:ref:refs/heads/main")),
		/repository_id, repository_owner_id/,
	],
	[
		"GitHub without event or environment",
		() => github({ claims: { repository_id: "2002", repository_owner_id: "1001", ref: "refs/heads/main" } }),
		/event_name.*environment/,
	],
	[
		"GitHub's ids as numbers",
		() => github({ claims: { ...GITHUB, repository_id: 2002 } }),
		/repository_id, repository_owner_id/,
	],
	[
		"GitLab without a protected ref",
		() => given({ type: "gitlab", claims: { ...GITLAB, ref_protected: "false" } }),
		/ref_protected/,
	],
	[
		"GitLab by the project alone",
		() => given({ type: "gitlab", claims: { project_id: "22" } }),
		/project_id, ref_path, ref_protected/,
	],
	[
		"Kubernetes by name",
		() => given({ type: "kubernetes", ...sub("system:serviceaccount:shop:deploy") }),
		/serviceaccount\/uid/,
	],
	["an e-mail alone", () => given({ claims: { email: "ada@example.com" } }), /\bsub\b/],
	["no claims", () => given({ claims: {} }), /1 to 20/],
	["a pattern", () => given(sub("repo:octo/*")), /\*/],
	["an empty text", () => given(sub("")), /empty/],
	["a list", () => given({ claims: { sub: ["deploy"] } }), /true, false/],
	["a fraction", () => given({ claims: { sub: "deploy", runner: 1.5 } }), /whole/],
	["a broken pointer", () => given({ claims: { "/a~2": "x" } }), /pointer/],
	["the audience as a claim", () => given({ claims: { aud: AUDIENCE } }), /iss, aud/],
	["a short audience", () => given({ audience: "svc" }), /8 to 255/],
	["the issuer as audience", () => given({ audience: "https://id.example.com/" }), /audience.*GitHub/],
	["GitHub as audience", () => given({ audience: "https://github.com/octo" }), /audience.*GitHub/],
	["plain http", () => given({ issuer: "http://id.example.com" }), /issuer.*https/],
	["another spelling of the issuer", () => given({ issuer: "https://ID.example.com" }), /issuer.*https/],
	["no issuer", () => given({ issuer: null }), /issuer.*trust_domain/],
	["both", () => given({ trust_domain: "prod.example.com" }), /issuer.*trust_domain/],
	[
		"a trust domain without keys",
		() => ({ trust_domain: "a.example", audience: AUDIENCE, ...sub("spiffe://a.example/x") }),
		/trust_domain.*jwks/,
	],
	[
		"another trust domain's name",
		() => given({ issuer: null, trust_domain: "a.example", ...sub("spiffe://b.example/x") }),
		/SPIFFE ID/,
	],
	["GitLab named GitHub", () => ({ ...given(), type: "github", issuer: "https://gitlab.com" }), /\btype\b/],
	["a private key", () => given({ jwks: { keys: [{ ...key.jwk, d: "AAAA" }] } }), /jwks.*private/],
	["a weak key", () => given({ jwks: { keys: [newKey("RS256", "weak", 1024).jwk] } }), /jwks.*2048/],
	["no keys", () => given({ jwks: { keys: [] } }), /jwks.*1 to 20/],
	["keys and an authority", () => given({ ca_cert: "CANARY" }), /jwks.*ca_cert/],
	["an authority that is none", () => given({ jwks: null, ca_cert: "CANARY" }), /ca_cert.*PEM/],
	["two hours", () => given({ max_ttl: "2h" }), /1s to 1h/],
];

test("a trust that would let in more than one workload is refused, with what it lacks, and nothing is stored", async () => {
	const { name } = await machine(world.api, world.people.owner, world.slug);
	const path = `/realms/${world.slug}/machines/${name}/trusts`;
	const { token } = world.people.owner;
	const set = (body: object, trust = "ci") => world.api.put(`${path}/${trust}`, body, { token });
	for (const [what, body, says] of LOOSE) {
		const answer = await set(body());
		assert.equal(answer.status, 400, `${what}: ${answer.text}`);
		assert.match(answer.text, says, what);
		assert.doesNotMatch(answer.text, /CANARY|octo/);
	}
	const { trusts } = ok(await world.api.get<{ trusts: Trust[] }>(path, { token }));
	assert.deepEqual(trusts, []);
	assert.match((await set(given(), "Not%20a%20name")).text, /a trust's name/);
});

/** Issuers that many share, the claims that mean one workload there, and whether they give the same JWT again. */
const SHARED: readonly (readonly [issuer: string, claims: object, single_use: boolean, lacking: string])[] = [
	[GITHUB_ISSUER, GITHUB, true, "repository_id"],
	["https://github.corp.example/_services/token", GITHUB, true, "repository_owner_id"],
	["https://gitlab.com", GITLAB, false, "ref_path"],
	[
		"https://0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d.tokens.sts.global.api.aws",
		{ "/https:~1~1sts.amazonaws.com~1/aws_account": "123456789012", sub: "arn:aws:iam::123456789012:role/deploy" },
		true,
		"sub",
	],
	["https://accounts.google.com", { sub: "1234567890" }, false, "sub"],
	["https://login.microsoftonline.com/tenant/v2.0", { oid: "1", azp: "2" }, false, "oid"],
	[
		"https://oidc.circleci.com/org/1",
		{ "oidc.circleci.com/project-id": "1", x: "y" },
		false,
		"oidc.circleci.com/project-id",
	],
	["https://agent.buildkite.com", { organization_id: "1", pipeline_id: "2" }, true, "pipeline_id"],
	[
		"https://app.terraform.io",
		{ terraform_organization_id: "org-1", terraform_workspace_id: "ws-1" },
		false,
		"terraform_workspace_id",
	],
];

test("an issuer that many share is known: which claims it needs, and whether its JWTs are used once", async () => {
	const { name } = await machine(world.api, world.people.owner, world.slug);
	const { token } = world.people.owner;
	const path = `/realms/${world.slug}/machines/${name}/trusts/shared`;
	for (const [issuer, claims, single_use, lacking] of SHARED) {
		const trust = ok(await world.api.put<Trust>(path, given({ issuer, claims }), { token }));
		assert.equal(trust.single_use, single_use, issuer);
		const { [lacking as never]: _, ...others } = claims;
		const answer = await world.api.put(path, given({ issuer, claims: { ...others, x: "y" } }), { token });
		assert.equal(answer.status, 400, issuer);
		assert.ok(answer.text.includes(`${lacking}`), answer.text);
		assert.equal(
			ok(await world.api.put<Trust>(path, given({ issuer, claims, single_use: !single_use }), { token })).single_use,
			!single_use,
		);
	}
});
