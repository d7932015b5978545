import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../errors.ts";
import { check } from "../http/input.ts";
import { CANARIES, TRACE } from "../testing/canaries.ts";
import { SetProvider } from "./settings.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const COMMON = {
	auto_provision: false,
	allowed_domains: ["Example.com"],
	trusted_email_domains: ["example.org"],
	role_mappings: [{ group: "ops", realm: "shop", role: "admin" }],
};
/** A good value for every field of each type. */
const GOOD: Record<string, Record<string, unknown>> = {
	oidc: {
		...{ issuer: "https://id.example.com/realm", client_id: "svc", client_secret: "secret", ca_cert: PEM },
		...{ scopes: "openid email", groups_claim: "groups", ...COMMON },
	},
	saml: {
		...{ idp_entity_id: "https://idp.example.com", idp_sso_url: "https://idp.example.com/sso", idp_certificate: PEM },
		...{ sp_entity_id: "https://svc.example.com", email_attribute: "mail", name_attribute: "cn" },
		...{ groups_attribute: "groups", ...COMMON },
	},
	ldap: {
		...{ url: "ldaps://ldap.example.com", user_base_dn: "ou=people,dc=example,dc=com", bind_dn: "cn=svc" },
		...{ bind_password: "secret", user_filter: "(&(objectClass=person)(uid={username}))", start_tls: false },
		...{ ca_cert: PEM, id_attribute: "objectGUID", email_attribute: "mail", name_attribute: "cn" },
		...{ group_base_dn: "ou=groups,dc=example,dc=com", group_filter: "(member={dn})", ...COMMON },
	},
};

const set = (type: string, config: object) => check(SetProvider, { type, display_name: "Corp", config });

for (const [type, config] of Object.entries(GOOD)) {
	test(`settings of ${type} are taken as they are, domains in lower case`, () => {
		assert.deepEqual(set(type, config).config, { ...config, allowed_domains: ["example.com"] });
	});

	test(`no message about settings of ${type} repeats what was received`, () => {
		let refused = 0;
		const attempts = Object.keys(config).flatMap((field) =>
			Object.values(CANARIES).map((canary) => ({ ...config, [field]: canary })),
		);
		const strange = [
			{ ...config, CANARY: "a" },
			{ ...config, CANARY: null },
		];
		const mappings = [{ CANARY: 1 }, { group: "g", realm: "r", role: "viewer", CANARY: null }, { role: "CANARY" }];
		const mapped = mappings.map((mapping) => ({ ...config, role_mappings: [mapping] }));
		for (const attempt of [...attempts, ...strange, ...mapped]) {
			try {
				set(type, attempt);
			} catch (error) {
				assert.ok(error instanceof AppError, String(error));
				assert.equal(error.status, 400);
				assert.doesNotMatch(JSON.stringify(error) + String(error.cause), TRACE);
				assert.match(error.message, /^[a-z].*[^.]$/);
				refused++;
			}
		}
		assert.ok(refused > attempts.length / 3, `${refused} of ${attempts.length}`);
	});

	test(`a field that ${type} needs is asked for by its name`, () => {
		const required = { oidc: ["issuer", "client_id", "client_secret"], saml: [], ldap: ["url", "user_base_dn"] }[type];
		for (const field of required ?? []) {
			const { [field]: _, ...rest } = config;
			assert.throws(() => set(type, rest), { code: "missing_field", message: new RegExp(`^config\\.${field} `) });
		}
		for (const field of Object.keys(config)) {
			assert.throws(() => set(type, { ...config, [field]: { a: 1 } }), AppError, field);
		}
	});
}
