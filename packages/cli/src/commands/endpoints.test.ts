import assert from "node:assert/strict";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const ID = "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d";
const REALM = { slug: "shop", name: "Shop", description: "", id: "i", user_id: "u", created_at: "t" };
const DELETED = { deleted_at: "d", deleted_by: "b", deleted_by_email: "bob@a.example" };
const TOKEN = { id: "i", prefix: "p", name: "n", scopes: "read", created_at: "t", expires_at: "soon" };
const BINDING = {
	user_id: "u",
	email: "bob@a.example",
	role: "viewer",
	granted_by: "g",
	granted_by_email: "ada@a.example",
	created_at: "t",
};
const MACHINE = {
	id: "i",
	name: "deploy",
	role: "viewer",
	scopes: "read",
	environment: "prod",
	engines: null,
	description: "ci",
	created_by: "u",
	created_at: "t",
};
const LEASE = {
	id: "i",
	engine: "keyvalue",
	role: "readonly",
	name: "svc_1a2b3c4d",
	state: "active",
	user_id: "u",
	created_at: "t",
	expires_at: "e",
	attempts: 0,
	last_error: "",
};
const ENGINE = { type: "totp", description: "codes", capabilities: ["secret_generation", "secret_validation"] };

const INVITATION = {
	...{ id: "i", email: "bob@example.com", created_by: "u", expires_at: "e" },
	bindings: [
		{ realm: "shop", role: "member" },
		{ realm: "blog", role: "viewer" },
	],
};

const NODE = {
	...{ id: "i", name: "db-1", status: "active", version: "1", address: "a", started_at: "t", seen_at: "s" },
	...{ master_key: "m", next_master_key: "n" },
};

const COMMANDS: readonly (readonly [words: string, request: string, answer: object, stdout: string])[] = [
	[
		"realm list",
		"GET realms?names=true&limit=100",
		page("realms", [REALM]),
		"SLUG  NAME  OWNER  CREATED\nshop  Shop  u      t\n",
	],
	[
		"realm create shop",
		'POST realms {"slug":"shop","name":"shop"}',
		{ status: 201, body: REALM },
		"realm shop created\n",
	],
	[
		"realm delete shop --yes",
		"DELETE realms/shop",
		{ body: { message: "realm deleted" } },
		"realm shop deleted; `svc realm restore shop` brings it back for 30 days\n",
	],
	[
		"realm list --deleted",
		"GET realms?deleted=true&limit=100",
		page("realms", [{ ...REALM, ...DELETED, owner_email: "ada@a.example", purge_at: "p" }]),
		"SLUG  NAME  OWNER          DELETED  BY             PURGED  ID\nshop  Shop  ada@a.example  d        bob@a.example  p       i\n",
	],
	["realm restore shop", "POST realms/shop/restore {}", { body: REALM }, "realm shop restored\n"],
	[
		"realm restore shop --id i --as old",
		'POST realms/shop/restore {"id":"i","slug":"old"}',
		{ body: { ...REALM, slug: "old" } },
		"realm old restored\n",
	],
	[
		"realm show shop",
		"GET realms/shop?names=true",
		{ body: { ...REALM, owner_email: "ada@a.example" } },
		"slug         shop\nname         Shop\ndescription\nid           i\nowner        ada@a.example\ncreated      t\n",
	],
	[
		"session list",
		"GET auth/sessions?limit=100",
		page("sessions", [
			{ id: "i", provider: "", created_at: "t", expires_at: "e", current: true },
			{ id: "j", provider: "corp", created_at: "t", expires_at: "e", current: false },
		]),
		"ID  BY        BEGAN  ENDS  LAST USED  FROM  CURRENT\ni   password  t      e                      this one\nj   corp      t      e\n",
	],
	["session end i", "DELETE auth/sessions/i", { body: { message: "session ended" } }, "session ended\n"],
	[
		"token list",
		"GET auth/tokens?limit=100",
		page("tokens", [TOKEN]),
		"ID  PREFIX  NAME  SCOPES  CREATED  EXPIRES\ni   p       n     read    t        soon\n",
	],
	[`token revoke ${ID}`, `DELETE auth/tokens/${ID}`, { body: { message: "token revoked" } }, "token revoked\n"],
	[
		"binding list --realm shop",
		"GET realms/shop/policy/bindings?names=true&limit=100",
		page("bindings", [BINDING]),
		"USER           ID  ROLE    GRANTED BY     CREATED\nbob@a.example  u   viewer  ada@a.example  t\n",
	],
	[
		"binding add u viewer --realm shop",
		'POST realms/shop/policy/bindings {"user_id":"u","role":"viewer"}',
		{ status: 201, body: BINDING },
		"u is viewer of shop\n",
	],
	[
		"binding set u member --realm shop",
		'PUT realms/shop/policy/bindings/u {"role":"member"}',
		{ body: { user_id: "u", role: "member" } },
		"u is member of shop\n",
	],
	[
		"binding remove u --realm shop",
		"DELETE realms/shop/policy/bindings/u",
		{ body: { message: "binding removed" } },
		"binding removed\n",
	],
	[
		"machine show deploy --realm shop",
		"GET realms/shop/machines/deploy",
		{ body: { ...MACHINE, created_by_email: "ada@a.example" } },
		"name         deploy\nrealm        shop\nrole         viewer\nscopes       read\nreaches      prod\ndescription  ci\nid           i\ncreated by   ada@a.example\ncreated      t\n",
	],
	[
		"machine delete deploy --realm shop --yes",
		"DELETE realms/shop/machines/deploy",
		{ body: { message: "machine deleted" } },
		"machine deleted\n",
	],
	[
		"machine token list deploy --realm shop",
		"GET realms/shop/machines/deploy/tokens?limit=100",
		page("tokens", [
			{ ...TOKEN, created_by: "u", last_used_at: null },
			{ ...TOKEN, name: "", created_by: "", last_used_at: "l" },
		]),
		"ID  PREFIX  NAME  MADE BY  CREATED  EXPIRES  LAST USED\ni   p       n     u        t        soon\ni   p             a trust  t        soon     l\n",
	],
	[
		`machine token revoke deploy ${ID} --realm shop`,
		`DELETE realms/shop/machines/deploy/tokens/${ID}`,
		{ body: { message: "token revoked" } },
		"token revoked\n",
	],
	[
		"engine list",
		"GET engines",
		{ body: { engines: [ENGINE] } },
		"TYPE  CAPABILITIES                          DESCRIPTION\ntotp  secret_generation, secret_validation  codes\n",
	],
	[
		"engine set keyvalue --set tls=true",
		'PUT engines/keyvalue/config?if=healthy {"tls":true}',
		{ body: { tls: true, password: "********", status: "healthy" } },
		"tls       true\npassword  ********\nstatus    healthy\n",
	],
	[
		"engine set keyvalue --realm shop --set database=2",
		'PUT realms/shop/engines/keyvalue/config?if=healthy {"database":2}',
		{ body: { database: 2, status: "healthy" } },
		"database  2\nstatus    healthy\n",
	],
	[
		"engine set pki --set max_ttl=90d --set default_ttl=7d --set token_ttl=1d --set ou=1d",
		'PUT engines/pki/config?if=healthy {"max_ttl":"2160h","default_ttl":"168h","token_ttl":"24h","ou":"1d"}',
		{ body: { status: "healthy" } },
		"status  healthy\n",
	],
	["engine show pki", "GET engines/pki/config", { body: { status: "healthy" } }, "status  healthy\n"],
	[
		"engine show pki --realm shop",
		"GET realms/shop/engines/pki/config",
		{ body: { status: "healthy" } },
		"status  healthy\n",
	],
	["engine remove pki --yes", "DELETE engines/pki/config", { body: { message: "gone" } }, "gone\n"],
	[
		"engine remove pki --realm shop --yes",
		"DELETE realms/shop/engines/pki/config",
		{ body: { message: "gone" } },
		"gone\n",
	],
	["engine ping pki", "POST engines/pki/ping", { body: { status: "healthy" } }, "healthy\n"],
	["engine ping pki --realm shop", "POST engines/pki/ping?realm=shop", { body: { status: "healthy" } }, "healthy\n"],
	[
		"engine validate totp --realm shop --param code=123456",
		'POST realms/shop/engines/totp/validate {"code":"123456"}',
		{ body: { valid: false } },
		"valid  false\n",
	],
	[
		"lease list --realm shop --engine keyvalue --state active",
		"GET realms/shop/leases?engine=keyvalue&state=active&names=true&limit=100",
		page("leases", [{ ...LEASE, email: "bob@a.example" }]),
		"ID  ENGINE    ROLE      NAME          FOR            STATE   EXPIRES\ni   keyvalue  readonly  svc_1a2b3c4d  bob@a.example  active  e\n",
	],
	[
		"lease list",
		"GET leases?names=true&limit=100",
		page("leases", [{ ...LEASE, realm: "shop", last_error: "away", machine: "shop/m" }]),
		"ID  REALM  ENGINE    ROLE      NAME          FOR             STATE   EXPIRES  LAST ERROR\ni   shop   keyvalue  readonly  svc_1a2b3c4d  machine:shop/m  active  e        away\n",
	],
	[
		"lease list --realm shop",
		"GET realms/shop/leases?names=true&limit=100",
		page("leases", [{ ...LEASE, altered: true }]),
		"ID  ENGINE    ROLE      NAME          FOR  STATE            EXPIRES\ni   keyvalue  readonly  svc_1a2b3c4d  u    active, altered  e\n",
	],
	[
		"lease show i --realm shop",
		"GET realms/shop/leases/i?names=true",
		{ body: { ...LEASE, email: "ada@a.example" } },
		"id          i\nengine      keyvalue\nrole        readonly\nname        svc_1a2b3c4d\nstate       active\nfor         ada@a.example\ncreated     t\nexpires     e\nattempts    0\nlast error\n",
	],
	["lease revoke i --realm shop", "DELETE realms/shop/leases/i", { body: { message: "gone" } }, "gone\n"],
	[
		"lease revoke-all --realm shop --engine pki --yes",
		'POST leases/revoke {"realm":"shop","engine":"pki"}',
		{ body: { count: 3 } },
		"leases that are being revoked: 3\n",
	],
	[
		"lease abandon i --reason gone --yes",
		'POST leases/i/abandon {"reason":"gone"}',
		{ body: { message: "lease abandoned" } },
		"lease abandoned\n",
	],
	[
		"sso show corp",
		"GET auth/providers/corp",
		{ body: { name: "corp", type: "ldap", display_name: "Corp", config: { start_tls: true } } },
		"name          corp\ntype          ldap\ndisplay_name  Corp\nstart_tls     true\n",
	],
	["sso remove corp --yes", "DELETE auth/providers/corp", { body: { message: "gone" } }, "gone\n"],
	["sso test corp", "POST auth/providers/corp/test", { body: { status: "healthy", message: "" } }, "healthy\n"],
	[
		"invite bob@example.com",
		'POST invitations {"email":"bob@example.com"}',
		{ body: { code: "c", email: "bob@example.com", expires_at: "e" } },
		"c\n",
	],
	[
		"invite bob@example.com --realm shop --realm blog --role member",
		'POST invitations {"email":"bob@example.com","bindings":[{"realm":"shop","role":"member"},{"realm":"blog","role":"member"}]}',
		{ body: { code: "c", email: "bob@example.com", expires_at: "e" } },
		"c\n",
	],
	[
		"invite bob@example.com --realm shop --role admin --realm blog --role viewer",
		'POST invitations {"email":"bob@example.com","bindings":[{"realm":"shop","role":"admin"},{"realm":"blog","role":"viewer"}]}',
		{ body: { code: "c", email: "bob@example.com", expires_at: "e" } },
		"c\n",
	],
	[
		"invitation list",
		"GET invitations?limit=100",
		page("invitations", [INVITATION]),
		"EMAIL            ROLES                    EXPIRES  INVITED BY  ID\nbob@example.com  shop:member blog:viewer  e        u           i\n",
	],
	["invitation delete i", "DELETE invitations/i", { body: { message: "gone" } }, "gone\n"],
	[
		"nodes",
		"GET nodes",
		{ body: { nodes: [NODE] } },
		"NAME  STATUS  VERSION  ADDRESS  STARTED  SEEN  MASTER KEY  NEXT MASTER KEY  ID\ndb-1  active  1        a        t        s     m           n                i\n",
	],
	["encrypt x", 'POST encrypt {"value":"x"}', { body: { ciphertext: "svc:v1:x" } }, "svc:v1:x\n"],
];

for (const [words, request, answer, stdout] of COMMANDS) {
	test(`svc ${words} asks for ${request}`, async () => {
		await using server = await startService(() => answer);
		assert.deepEqual(
			await run(words.split(" "), { env: server.env }).then((outcome) => [outcome.code, outcome.stdout]),
			[0, stdout],
		);
		const [seen] = server.requests;
		const body = seen?.body === undefined ? "" : ` ${JSON.stringify(seen.body)}`;
		assert.equal(`${seen?.method} ${seen?.url.replace("/api/v1/", "")}${body}`, request);
	});
}
