import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, suite, test } from "node:test";
import { type Issuer, type IssuerFault, startIssuer } from "../../../../test/peers/issuer.ts";
import { createDnsLookups } from "./dns-lookup.ts";
import { createIssuerKeys, type IssuerKeys, type KeySource } from "./issuer-keys.ts";

/** The longest time for one fetch, by a timer that starts with it; the server waits for 5 s, and up to 2.5 s for its turn. */
const IN_TIME_MS = 10_000;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

async function start(): Promise<Issuer> {
	const peer = await startIssuer();
	ends.defer(peer.stop);
	return peer;
}

const create = () => createIssuerKeys({ private_issuers: ["127.0.0.1"], dns_lookups: createDnsLookups() });
const sourceOf = ({ issuer, ca_cert }: Issuer): KeySource => {
	return { issuer, ca_cert, keys_host: new URL(issuer).host, payer: "ada", realm_id: "realm" };
};

/** The message of a fetch that fails. It must come in time. */
async function failureOf(keys: IssuerKeys, source: KeySource): Promise<string> {
	let is_late = false;
	const timer = setTimeout(() => {
		is_late = true;
	}, IN_TIME_MS);
	const error = await keys
		.keysOf(source, () => true)
		.then(
			() => assert.fail("it succeeds"),
			(thrown) => thrown,
		);
	clearTimeout(timer);
	assert.ok(!is_late);
	assert.equal(error.name, "IssuerUnavailable");
	return error.message;
}

const FAULTS: [IssuerFault, RegExp][] = [
	[{ does: "hang" }, /\bwithin 5 s$/],
	[{ does: "drip" }, /\bwithin 5 s$/],
	[{ does: "drop" }, /\(\w+\)$/],
	[{ does: "flood" }, /\b64 KiB$/],
	[{ does: "bomb" }, /\bcompressed\b/],
	[{ does: "answer", status: 302, headers: { location: "http://169.254.169.254/latest/" } }, /\(status 302\)$/],
	[{ does: "answer", status: 404 }, /\(status 404\)$/],
	[{ does: "answer", body: '{"issuer":"a","issuer":"b"}' }, /\bJSON$/],
];
suite("an issuer that takes its time", { concurrency: true }, () => {
	for (const endpoint of ["discovery", "keys"] as const) {
		test(`row 59: an issuer that misbehaves at its ${endpoint} is abandoned in 5 s`, async () => {
			const peers = await Promise.all(FAULTS.map(start));
			await Promise.all(
				FAULTS.map(async ([fault, message], index) => {
					const faulty = peers[index] as Issuer;
					faulty.faults = { [endpoint]: fault };
					assert.match(await failureOf(create(), sourceOf(faulty)), message);
					assert.equal(faulty.asked.length, endpoint === "discovery" ? 1 : 2);
				}),
			);
		});
	}

	test("row 60: of a name's addresses, only the public ones are connected to, and the name is resolved once", async () => {
		let resolved = 0;
		const lookup = async () => {
			resolved++;
			// The second is in a range that IANA has given to nobody: it counts as public, and nobody answers.
			return [
				{ address: "127.0.0.1", family: 4 },
				{ address: "4000::1", family: 6 },
			];
		};
		const peer = await start();
		const keys = createIssuerKeys({ private_issuers: [], dns_lookups: { named: lookup, other: lookup } });
		const issuer = `https://issuer.example:${new URL(peer.issuer).port}`;
		await failureOf(keys, { ...sourceOf(peer), issuer });
		assert.equal(resolved, 1);
		assert.deepEqual(peer.asked, []);
	});

	test("slow issuers of one account, in however many realms, do not take the turns of another account", async () => {
		const peer = await start();
		let connections = 0;
		// It says nothing, not even in TLS.
		const silent = createServer(() => connections++).listen(0, "127.0.0.1");
		ends.defer(() => void silent.close());
		await once(silent, "listening");
		const { port } = silent.address() as AddressInfo;
		const keys = create();
		const waiting = Array.from({ length: 20 }, (_, at) =>
			failureOf(keys, { ...sourceOf(peer), issuer: `https://127.0.0.1:${port}/${at}`, realm_id: `realm ${at}` }),
		);
		const found = await keys.keysOf({ ...sourceOf(peer), payer: "bob" }, () => true);
		assert.equal(found.length, 1);
		assert.ok(connections <= 2, `${connections}`);
		const messages = await Promise.all(waiting);
		const refused = messages.filter((message) => message.includes("(issuers_waiting_per_account)"));
		assert.equal(refused.length, waiting.length - connections, "those that were not asked");
	});
});
