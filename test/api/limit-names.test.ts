import assert from "node:assert/strict";
import { test } from "node:test";
import { api } from "../harness/client.ts";
import { ask } from "../harness/console.ts";
import { ok } from "../harness/expect.ts";
import { person } from "../harness/fixtures.ts";
import { read } from "../harness/sources.ts";
import { type Server, startServer } from "../harness.ts";

const SERVER = "packages/server/src";

/** Kinds of work of which one account may have some waiting. */
const TURNS = [
	...["backups", "comparisons", "engine_calls", "key_lists", "long_questions", "promotions", "rewrites"],
	...["verifications", "whole_reads"],
];

/** Limits that refuse by name, and the test in which each does. */
const NAMED: Record<string, string[]> = {
	[`${SERVER}/accounts/password-queue.test.ts`]: [
		"password_checks_waiting",
		...["account", "site", "source"].map((whose) => `password_checks_waiting_per_${whose}`),
	],
	[`${SERVER}/accounts/throttle.codes.test.ts`]: [
		...["jwt_exchanges", "refused_logins", "registrations"].map((what) => `${what}_per_minute_per_source`),
		"wrong_codes_per_day_per_account",
	],
	[`${SERVER}/accounts/throttle.limits.test.ts`]: [
		...["account", "account_and_source", "source"].map((whose) => `failed_logins_per_${whose}`),
	],
	[`${SERVER}/http/answers.test.ts`]: ["answer_bytes", "answer_bytes_per_account"],
	[`${SERVER}/http/bodies.test.ts`]: ["body_bytes", "body_bytes_per_source"],
	[`${SERVER}/http/page-answers.test.ts`]: ["answer_bytes_per_token"],
	[`${SERVER}/http/request-queue.test.ts`]: ["requests_waiting_for_commits", "requests_waiting_per_source"],
	[`${SERVER}/engines/host/failures.payers.test.ts`]: ["engine_failures_per_account"],
	[`${SERVER}/engines/host/pool.test.ts`]: ["engine_calls_waiting_per_realm"],
	[`${SERVER}/engines/limits.test.ts`]: ["max_connections", "max_connections_per_realm"],
	[`${SERVER}/factors/challenges.test.ts`]: ["passkey_uses", "passkey_uses_per_account"],
	[`${SERVER}/semaphore.accounts.test.ts`]: TURNS.map((what) => `${what}_waiting_per_account`),
	[`${SERVER}/sso/ask-directory.test.ts`]: ["directory_login_wait_ms"],
	[`${SERVER}/sso/ldap/hostile.test.ts`]: ["ldap_questions_waiting_per_directory"],
	[`${SERVER}/sso/oidc/answers.test.ts`]: ["oidc_logins_waiting_per_source"],
	[`${SERVER}/store/sqlite/low-disk.test.ts`]: ["low_disk_events_per_second"],
	[`${SERVER}/store/sqlite/time-limit.test.ts`]: ["question_seconds"],
	[`${SERVER}/trusts/issuer-fairness.test.ts`]: ["issuers_waiting_per_account"],
	"test/api/limits.test.ts": [
		...["factors", "invitations", "bindings", "realms", "tokens"].map((what) => `${what}_per_account`),
		...["bindings", "invitations", "machines"].map((what) => `${what}_per_realm`),
		...["realm_bytes", "tokens_per_machine"],
	],
	"test/sso/saml-limits.test.ts": ["saml_responses_waiting", "saml_responses_waiting_per_source"],
};

/** Limits that refuse without a name, and why. */
const NAMELESS: Record<string, string> = {
	connections: "the connection is closed before it can be answered",
	connections_per_source: "the same",
	connections_per_site: "the same",
	new_connections_per_source: "the same",
	requests: "a request waits for a place",
	sessions_per_account: "the oldest session ends",
	trusted_tokens_per_machine: "every refusal of a JWT is answered alike",
	used_jwts_per_realm: "the same",
	accounts: "a test would make 100,000 of them",
	identities_per_account: "a test would need 20 persons of a provider",
	trusts_per_machine: "a test would ask 20 issuers for their keys",
};

/** Settings of providers that nobody asks. */
const PROVIDERS = {
	ldap: { url: "ldap://127.0.0.1:1", user_base_dn: "ou=people,dc=test" },
	oidc: { issuer: "https://127.0.0.1:1", client_id: "svc", client_secret: "a secret" },
	saml: {
		idp_entity_id: "https://idp.example.com/",
		idp_sso_url: "https://idp.example.com/sso",
		idp_certificate: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
	},
};

/** Has the limits added that come with the first provider of each protocol, and with the first page of the console. */
async function addLateLimits(server: Server): Promise<void> {
	const client = api(server);
	const { token } = await person(client, "root");
	for (const [type, config] of Object.entries(PROVIDERS))
		ok(await client.put(`/auth/providers/${type}`, { type, config }, { token }));
	await ask(server, "GET", "/console/sign-in");
}

test("every limit of the server names itself in its refusal, and metrics show it", async (t) => {
	const server = await startServer();
	t.after(() => server.close());
	await addLateLimits(server);
	const { text } = await api(server).send("GET", "/metrics");
	const shown = (metric: string) =>
		[...text.matchAll(new RegExp(`^${metric}\\{limit="(\\w+)"\\}`, "gm"))].map(([, name = ""]) => name);
	const limits = shown("svc_limit_max");
	const listed = [...Object.values(NAMED).flat(), ...Object.keys(NAMELESS)];
	assert.deepEqual(new Set(limits), new Set(listed));
	assert.equal(limits.length, listed.length, "none twice");
	assert.deepEqual(new Set(shown("svc_limit_used")), new Set(limits));
	const counted = new Set(shown("svc_limit_refused_total"));
	const uncounted = ["requests", "sessions_per_account", "trusted_tokens_per_machine", "used_jwts_per_realm"];
	assert.deepEqual(new Set(limits).difference(counted), new Set(uncounted));
});

test("the test of each limit looks for its name", () => {
	for (const [file, names] of Object.entries(NAMED))
		for (const name of names) assert.match(read(file), new RegExp(`\\b${name}\\b`), `${name} in ${file}`);
});
