import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { ok } from "../harness/expect.ts";
import { entry, honestBut, startFakeLdap } from "../peers/ldap-fake.ts";
import { startFakeProvider } from "../peers/oidc-fake.ts";
import { type LdapWorld, startLdapWorld } from "../sso/ldap-world.ts";
import { type OidcWorld, startOidcWorld } from "../sso/oidc-world.ts";

const RUNS = { seed: 16, numRuns: 40 };
const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let directories: LdapWorld;
let providers: OidcWorld;
before(async () => {
	directories = await startLdapWorld();
	ends.defer(directories.close);
	providers = await startOidcWorld();
	ends.defer(providers.close);
});

test("whatever a directory answers to a search, nobody is let in by it and the server lives", async () => {
	let reply = Buffer.alloc(0);
	const fake = await startFakeLdap(honestBut("search", () => (socket) => void socket.end(reply)));
	ends.defer(fake.stop);
	await directories.set("garbling", { url: fake.url, ca_cert: fake.ca });
	const truth = entry(2, "uid=alice,ou=people,dc=test", { entryUUID: ["0b8f"], mail: ["alice@example.com"] });
	const change = fc.tuple(fc.nat(truth.length - 1), fc.nat(255));
	const garbled = fc.oneof(
		fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
		fc.array(change, { minLength: 1, maxLength: 6 }).map((changes) => {
			const bytes = Buffer.from(truth);
			for (const [at, byte] of changes) bytes[at] = byte;
			return bytes;
		}),
	);
	const property = fc.asyncProperty(garbled, async (bytes) => {
		reply = bytes;
		const { status, text } = await directories.signIn("garbling", "alice", "password of alice");
		assert.ok(status === 401 || status === 429 || status === 503, text);
	});
	await fc.assert(property, RUNS);
	ok(await directories.client.get("/health"));
	assert.doesNotMatch(directories.server.stderr(), /internal_error|request\.failed.*"status":500/);
});

test("whatever a discovery document or a set of keys says, it is used or refused, and the server lives", async () => {
	const liar = await startFakeProvider();
	ends.defer(liar.stop);
	const odd = fc.oneof(fc.jsonValue(), fc.constantFrom("http://127.0.0.1:1/", "https://", "javascript:x", null, 1e308));
	const field = fc.constantFrom("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint");
	const property = fc.asyncProperty(field, odd, odd, async (name, value, keys) => {
		liar.lie = { metadata: (truth) => ({ ...truth, [name]: value }), keys: () => keys };
		await providers.set("liar", liar);
		const { status, text } = await providers.client.get("/auth/oidc/liar/login");
		assert.ok(status === 302 || status === 429 || status === 503, text);
	});
	await fc.assert(property, RUNS);
	ok(await providers.client.get("/health"));
	assert.doesNotMatch(providers.server.stderr(), /"status":500/);
});
