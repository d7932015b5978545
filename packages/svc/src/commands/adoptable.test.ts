import assert from "node:assert/strict";
import { test } from "node:test";
import type { Adoptable } from "@svc/server/offline";
import { describeAdoptable } from "./adoptable.ts";

const FOUND = {
	rows: {
		accounts: { total: 3, disabled: 1 },
		admins: [
			{ email: "ada@example.com", name: "Ada" },
			{ email: "bob@example.com", name: "bob@example.com" },
		],
		realms: [{ realm: "shop", owner: "ada@example.com" }],
		bindings: [{ email: "bob@example.com", role: "viewer", realm: "shop" }],
		tokens: [
			{
				name: "deploy",
				owner: "ada@example.com",
				scopes: "read",
				realm: "shop",
				environment: "prod",
				engines: '["keyvalue:readonly"]',
				expires_at: "2030-01-01T00:00:00.000Z",
			},
			{
				name: "all",
				owner: "bob@example.com",
				scopes: "read,write",
				realm: null,
				environment: null,
				engines: null,
				expires_at: null,
			},
		],
		configs: [
			{ engine: "keyvalue", realm: "" },
			{ engine: "pki", realm: "shop" },
		],
		providers: [{ name: "corp", type: "oidc" }],
		identities: [{ provider: "corp", subject: "0815", email: "bob@example.com" }],
		machines: [
			{
				...{ machine: "shop/deploy", role: "member", scopes: "read", environment: "prod", engines: null },
				created_by: "ada@example.com",
			},
		],
		machine_tokens: [
			{
				...{ name: "", prefix: "svc_abcd", machine: "shop/deploy", created_by: "bob@example.com" },
				expires_at: "2030-01-01T00:00:00.000Z",
			},
		],
		trusts: [
			{
				...{ name: "github", machine: "shop/deploy", issuer: "https://id.example.com", claims: '{"sub":"ci"}' },
				created_by: "ada@example.com",
			},
		],
		invitations: [
			{ email: "carol@example.com", created_by: "bob@example.com", roles: 2, expires_at: "2030-01-01T00:00:00.000Z" },
		],
	},
	misfits: ["rows of api_token"],
	log: { status: "altered", seq: 7 },
	differences: [
		{ kind: "token", id: "t", problem: "unknown" },
		{ kind: "session", id: "s", name: "bob@example.com", problem: "ended", seq: 5 },
	],
	strange: [{ seq: 6, type: "secret.read", kind: "session", id: "s" }],
} as unknown as Adoptable;

test("what does not fit is first, then all that would be believed, by name", () => {
	assert.deepEqual(
		[...describeAdoptable(FOUND)],
		[
			"not as the server left it: rows of api_token",
			"the audit log is altered from event 7 on",
			"not as the audit log says: token t is unknown",
			"not as the audit log says: session s (bob@example.com) is ended, against event 5",
			"strange in the audit log: event 6, secret.read, is of session s, which did not exist",
			"would be believed: 3 accounts, 1 of them disabled, 1 realms, 1 roles, 2 API tokens, 2 configurations of engines, 1 identity providers, 1 linked identities, 1 machines, 1 tokens of machines, 1 trusts, 1 invitations",
			"instance admin ada@example.com (Ada)",
			"instance admin bob@example.com",
			"realm shop of ada@example.com",
			"role viewer of bob@example.com in realm shop",
			'API token deploy of ada@example.com: scopes read, realm shop, environment prod, engines ["keyvalue:readonly"], until 2030-01-01T00:00:00.000Z',
			"API token all of bob@example.com: scopes read,write, all realms, all environments, without an end",
			"configuration of keyvalue for all realms",
			"configuration of pki for realm shop",
			"identity provider corp (oidc)",
			"identity 0815 of corp signs in as bob@example.com",
			"machine shop/deploy of ada@example.com: member, scopes read, environment prod",
			"token svc_abcd of machine shop/deploy, made by bob@example.com, until 2030-01-01T00:00:00.000Z",
			'trust github of machine shop/deploy, made by ada@example.com: https://id.example.com with {"sub":"ci"}',
			"invitation of carol@example.com by bob@example.com: 2 roles, until 2030-01-01T00:00:00.000Z",
		],
	);
});
