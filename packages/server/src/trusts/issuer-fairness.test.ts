import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, suite, test } from "node:test";
import { startIssuer } from "../../../../test/peers/issuer.ts";
import { createDnsLookups } from "./dns-lookup.ts";
import { createIssuerKeys, type KeySource } from "./issuer-keys.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

/** Starts an issuer, and keys whose account `ada` asks so many issuers that say nothing. */
async function setUp(silent: number) {
	const peer = await startIssuer();
	ends.defer(peer.stop);
	// It says nothing, not even in TLS.
	const server = createServer().listen(0, "127.0.0.1");
	ends.defer(() => void server.close());
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const keys = createIssuerKeys({ private_issuers: ["127.0.0.1"], dns_lookups: createDnsLookups() });
	const { issuer, ca_cert } = peer;
	const source: KeySource = { issuer, ca_cert, keys_host: new URL(issuer).host, payer: "ada", realm_id: "realm" };
	const ask = (payer: string) => keys.keysOf({ ...source, payer }, () => true);
	const slow = Array.from({ length: silent }, (_, at) =>
		keys.keysOf({ ...source, issuer: `https://127.0.0.1:${port}/${at}` }, () => true),
	);
	return { peer, keys, ask, slow: Promise.allSettled(slow) };
}

/** Issuers of an account in one realm that are asked at once, and those that may wait: half of the account's. */
const [AT_ONCE, WAITING] = [1, 8];

suite("an account whose issuers are slow", { concurrency: true }, () => {
	test("that waits for an issuer does not keep another from asking it, and is served with it", async () => {
		const { peer, keys, ask, slow } = await setUp(AT_ONCE + 1);
		const both = await Promise.all([ask("ada"), ask("bob")]);
		assert.deepEqual([both.map(({ length }) => length), peer.asked.length, keys.stale()], [[1, 1], 2, 0]);
		await slow;
	});

	test("that may ask no more issuers is refused by name, and nobody else is", async () => {
		const { peer, keys, ask, slow } = await setUp(AT_ONCE + WAITING);
		await assert.rejects(ask("ada"), { name: "IssuerUnavailable", message: /\(issuers_waiting_per_account\)/ });
		assert.equal(keys.limit.refused?.(), 1);
		assert.deepEqual([(await ask("bob")).length, peer.asked.length, keys.stale()], [1, 2, 0]);
		assert.equal((await ask("ada")).length, 1, "the keys are there now");
		await slow;
	});
});
