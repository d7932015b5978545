import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { type Issuer, newKey, startIssuer } from "../../../../test/peers/issuer.ts";
import { createDnsLookups } from "./dns-lookup.ts";
import { createIssuerKeys, type KeySource } from "./issuer-keys.ts";
import type { IssuerKey } from "./jwks.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

let peer: Issuer;
let ahead_ms = 0;
beforeEach(async () => {
	peer = await startIssuer();
	ends.defer(peer.stop);
	ahead_ms = 0;
});

const now = () => ahead_ms;
const pass = (ms: number) => {
	ahead_ms += ms;
};
const create = (private_issuers = ["127.0.0.1"]) =>
	createIssuerKeys({ private_issuers, dns_lookups: createDnsLookups() }, now);

const sourceOf = ({ issuer, ca_cert }: Pick<Issuer, "issuer" | "ca_cert">): KeySource => {
	return { issuer, ca_cert, keys_host: new URL(issuer).host, payer: "ada", realm_id: "realm" };
};
const has =
	(...kids: string[]) =>
	(keys: readonly IssuerKey[]) =>
		kids.every((kid) => keys.some((key) => key.kid === kid));
const kidsOf = (keys: readonly IssuerKey[]) => keys.map(({ kid }) => kid);
const fetches = () => peer.asked.filter((path) => path.startsWith("/.well-known")).length;

/** The message of a fetch that fails. */
async function failureOf(keys: ReturnType<typeof create>, source: KeySource): Promise<string> {
	const error = await keys.keysOf(source, has("first")).then(
		() => assert.fail("it succeeds"),
		(thrown) => thrown,
	);
	assert.equal(error.name, "IssuerUnavailable");
	return error.message;
}

test("keys are fetched once and used for ten minutes by everybody who asks", async () => {
	const keys = create();
	const found = await Promise.all(Array.from({ length: 20 }, () => keys.keysOf(sourceOf(peer), has("first"))));
	for (const one of found) assert.deepEqual(kidsOf(one), ["first"]);
	pass(9 * 60_000);
	await keys.keysOf(sourceOf(peer), has("first"));
	assert.equal(fetches(), 1);
	pass(2 * 60_000);
	await keys.keysOf(sourceOf(peer), has("first"));
	assert.equal(fetches(), 2);
});

test("rows 53, 54 and 56: a new key is found by one fetch after the pause, unknown ones cause no other, and a removed one is gone", async () => {
	const keys = create();
	await keys.keysOf(sourceOf(peer), has("first"));
	peer.keys = [newKey("ES256", "second")];
	for (let count = 0; count < 100; count++) await keys.keysOf(sourceOf(peer), has(`unknown ${count}`));
	assert.equal(fetches(), 1, "no fetch in the pause");
	pass(30_001);
	const [found] = await Promise.all([
		keys.keysOf(sourceOf(peer), has("second")),
		...Array.from({ length: 99 }, (_, count) => keys.keysOf(sourceOf(peer), has(`unknown ${count}`))),
	]);
	assert.deepEqual(kidsOf(found), ["second"]);
	assert.equal(fetches(), 2);
});

test("row 55: keys are used for an hour while the issuer is away, and no longer", async () => {
	const keys = create();
	await keys.keysOf(sourceOf(peer), has("first"));
	assert.equal(keys.stale(), 0);
	peer.faults = { discovery: { does: "answer", status: 503 } };
	pass(11 * 60_000);
	for (let count = 0; count < 20; count++)
		assert.deepEqual(kidsOf(await keys.keysOf(sourceOf(peer), has("first"))), ["first"]);
	assert.equal(fetches(), 2, "a failure has its pause, too");
	assert.equal(keys.stale(), 1);
	pass(50 * 60_000);
	assert.match(await failureOf(keys, sourceOf(peer)), /status 503/);
	assert.equal(keys.stale(), 0, "they are not used any more");
	peer.faults = {};
	pass(30_001);
	assert.deepEqual(kidsOf(await keys.keysOf(sourceOf(peer), has("first"))), ["first"]);
	assert.equal(keys.stale(), 0);
});

test("trusts that nobody can make push out no keys in use", async () => {
	const keys = create();
	await keys.keysOf(sourceOf(peer), has("first"));
	const refused = Array.from({ length: 1000 }, (_, count) =>
		keys.findHost({ ...sourceOf(peer), issuer: `https://127.0.0.2/${count}` }),
	);
	const outcomes = await Promise.allSettled(refused);
	assert.ok(outcomes.every(({ status }) => status === "rejected"));
	peer.faults = { discovery: { does: "answer", status: 503 } };
	pass(11 * 60_000);
	assert.deepEqual(kidsOf(await keys.keysOf(sourceOf(peer), has("first"))), ["first"]);
});

test("an issuer's keys are remembered until a thousand others were used since", async () => {
	const keys = create();
	const useOthers = async (count: number) => {
		const used = Array.from({ length: count }, (_, at) =>
			keys.keysOf({ ...sourceOf(peer), issuer: `https://127.0.0.2/${at}` }, has("first")),
		);
		assert.ok((await Promise.allSettled(used)).every(({ status }) => status === "rejected"));
	};
	await keys.keysOf(sourceOf(peer), has("first"));
	peer.faults = { discovery: { does: "answer", status: 503 } };
	await useOthers(999);
	assert.deepEqual(kidsOf(await keys.keysOf(sourceOf(peer), has("first"))), ["first"]);
	await useOthers(1000);
	pass(30_001);
	assert.match(await failureOf(keys, sourceOf(peer)), /status 503/);
});

test("trusts cannot have an issuer asked more often by spelling its authority in other ways", async () => {
	const keys = create();
	const { keys_host, ...source } = sourceOf(peer);
	const spelled = [0, 1, 2].map((blanks) => ({ ...source, ca_cert: peer.ca_cert + "\n".repeat(blanks) }));
	const [first, second, third] = spelled.map((one) => ({ ...one, keys_host }));
	assert.ok(first && second && third);
	for (const [at, one] of spelled.entries()) {
		pass(30_001);
		assert.equal(await keys.findHost(one), keys_host);
		for (const other of spelled.filter((_, index) => index !== at))
			await assert.rejects(keys.findHost(other), { name: "IssuerUnavailable" });
		assert.equal(fetches(), at + 1);
	}
	assert.equal(await keys.findHost({ ...first, realm_id: "another realm" }), keys_host);
	assert.equal(fetches(), 4, "another realm does not wait for it");
	assert.equal(await keys.findHost({ ...first, realm_id: "a third one" }), keys_host);
	assert.equal(fetches(), 4, "realms with the same authority have the same keys");
	pass(61 * 60_000);
	await keys.keysOf(first, has("first"));
	for (const other of [second, third]) await failureOf(keys, other);
	pass(30_001);
	assert.deepEqual(kidsOf(await keys.keysOf(second, has("first"))), ["first"]);
	assert.equal(fetches(), 6);
});

test("an empty or broken answer never replaces good keys", async () => {
	const keys = create();
	await keys.keysOf(sourceOf(peer), has("first"));
	for (const body of ["", "{}", '{"keys":[]}', '{"keys":[{"kty":"oct","k":"AAAA"}]}', "[".repeat(1000)]) {
		peer.faults = { keys: { does: "answer", body } };
		pass(11 * 60_000);
		assert.deepEqual(kidsOf(await keys.keysOf(sourceOf(peer), has("first"))), ["first"]);
		peer.faults = {};
		pass(31_000);
		await keys.keysOf(sourceOf(peer), has("first"));
	}
	assert.equal(fetches(), 11);
});

test("rows 57 and 58: a discovery document that names another issuer, or keys at an address that is none of its own, is not used", async () => {
	const { issuer } = peer;
	for (const [wrong, message] of [
		[{ issuer: "https://other.example" }, /\banother issuer\b/],
		[{ issuer: `${issuer}/` }, /\banother issuer\b/],
		[{ issuer: undefined }, /\bissuer or jwks_uri\b/],
		[{ jwks_uri: "nowhere" }, /\bvalid jwks_uri\b/],
		[{ jwks_uri: issuer.replace("https:", "http:") }, /\bhttps\b/],
		[{ jwks_uri: "file:///etc/passwd" }, /another host/],
		[{ jwks_uri: "https://169.254.169.254/keys" }, /another host/],
	] as const) {
		peer.metadata = (truth) => ({ ...truth, ...wrong });
		assert.match(await failureOf(create(), sourceOf(peer)), message);
	}
	peer.metadata = (truth) => ({ ...truth, jwks_uri: "https://169.254.169.254/keys" });
	await assert.rejects(create().findHost(sourceOf(peer)), /\bprivate address\b/);
	assert.ok(!peer.asked.includes("/keys"));
});

test("keys that move to another host are not fetched there until the trust is made again", async () => {
	const other = await startIssuer();
	ends.defer(other.stop);
	const keys = create();
	const { keys_host: _, ...source } = sourceOf(peer);
	assert.equal(await keys.findHost(source), new URL(peer.issuer).host);
	await keys.keysOf(sourceOf(peer), has("first"));
	assert.equal(fetches(), 1, "what was found when the trust was made is used");
	peer.metadata = (truth) => ({ ...truth, jwks_uri: `${other.issuer}/keys` });
	pass(61 * 60_000);
	assert.match(await failureOf(keys, sourceOf(peer)), /\banother host\b/);
	assert.deepEqual(other.asked, []);
});

test("row 60: a private address is never asked unless the operator allows its host, however it is written or resolved", async () => {
	const { port } = new URL(peer.issuer);
	const names = ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "①②⑦.0.0.1", "[::ffff:127.0.0.1]", "[::1]"];
	for (const name of names) {
		const issuer = `https://${name}:${port}`;
		assert.match(await failureOf(create([]), { ...sourceOf(peer), issuer }), /\bprivate address\b/, name);
	}
	for (const addresses of [["127.0.0.1"], ["::1", "127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], []]) {
		const lookup = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
		const keys = createIssuerKeys({ private_issuers: [], dns_lookups: { named: lookup, other: lookup } }, now);
		const issuer = `https://issuer.example:${port}`;
		assert.match(await failureOf(keys, { ...sourceOf(peer), issuer }), /\bprivate address\b/, addresses.join());
	}
	for (const other of [["127.0.0.1:1"], ["127.0.0"], ["localhost"]])
		assert.match(await failureOf(create(other), sourceOf(peer)), /\bprivate address\b/);
	assert.deepEqual(peer.asked, []);
	await create([`127.0.0.1:${port}`]).keysOf(sourceOf(peer), has("first"));
	assert.equal(fetches(), 1);
});

test("an authority that the trust does not name vouches for no issuer, and issuers with other authorities do not share keys", async () => {
	const other = await startIssuer();
	ends.defer(other.stop);
	const keys = create();
	await keys.keysOf(sourceOf(peer), has("first"));
	pass(30_001);
	await failureOf(keys, { ...sourceOf(peer), ca_cert: other.ca_cert });
	await failureOf(keys, { ...sourceOf(peer), ca_cert: null });
});

test("an issuer has at most 25 keys", async () => {
	const many = Array.from({ length: 26 }, (_, at) => newKey("ES256", `key ${at}`));
	peer.keys = many.slice(1);
	assert.equal((await create().keysOf(sourceOf(peer), () => true)).length, 25);
	peer.keys = many;
	await failureOf(create(), sourceOf(peer));
});

test("issuers of one account, however many, do not push out the keys that another one uses", async () => {
	const keys = create();
	await keys.keysOf(sourceOf(peer), has("first"));
	const others = Array.from({ length: 2000 }, (_, at) =>
		keys.keysOf({ ...sourceOf(peer), issuer: `https://127.0.0.2/${at}`, payer: "bob" }, has("first")),
	);
	assert.ok((await Promise.allSettled(others)).every(({ status }) => status === "rejected"));
	peer.faults = { discovery: { does: "answer", status: 503 } };
	assert.deepEqual(kidsOf(await keys.keysOf(sourceOf(peer), has("first"))), ["first"]);
});

test("keys fetched in the last hour may be used without asking", async () => {
	const keys = create();
	assert.equal(keys.kept(sourceOf(peer)), undefined);
	await keys.keysOf(sourceOf(peer), has("first"));
	pass(60 * 60_000 - 1);
	assert.deepEqual(kidsOf(keys.kept(sourceOf(peer)) ?? []), ["first"]);
	pass(1);
	assert.equal(keys.kept(sourceOf(peer)), undefined);
});
