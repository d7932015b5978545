import assert from "node:assert/strict";
import { createSocket, type RemoteInfo } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { after, test } from "node:test";
import { createDnsLookups } from "./dns-lookup.ts";
import { createFetch } from "./fetch.ts";

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

/** Starts a name server. @param answer returns the address of a question's type, or undefined for no answer at all */
async function startNameServer(answer: (type: number) => Buffer | undefined) {
	const socket = createSocket("udp4");
	ends.defer(() => void socket.close());
	const asked: number[] = [];
	socket.on("message", (query: Buffer, { port, address }: RemoteInfo) => {
		const type = query.readUInt16BE(query.indexOf(0, 12) + 1);
		asked.push(type);
		const found = answer(type);
		if (found === undefined) return;
		const question = query.subarray(12, query.indexOf(0, 12) + 5);
		const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
		const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, found.length, ...found]);
		socket.send(Buffer.concat([head, question, record]), port, address);
	});
	socket.bind(0, "127.0.0.1");
	await once(socket, "listening");
	return { servers: [`127.0.0.1:${socket.address().port}`], asked };
}

/** Fails if the system's resolver is asked. */
const notBySystem = () => assert.fail("the system looks it up");

test("a host that the operator did not name is looked up in DNS alone, in both families", async () => {
	const six = Buffer.from([0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), 1]);
	const { servers } = await startNameServer((type) => (type === 1 ? Buffer.from([192, 0, 2, 1]) : six));
	const { other } = createDnsLookups(servers, notBySystem);
	assert.deepEqual(await other("issuer.example", AbortSignal.timeout(10_000)), [
		{ address: "192.0.2.1", family: 4 },
		{ address: "2001:db8::1", family: 6 },
	]);
});

test("a name server that never answers is abandoned with the fetch, and leaves nothing open", async () => {
	const { servers, asked } = await startNameServer(() => undefined);
	const { other } = createDnsLookups(servers, notBySystem);
	const fetch = new AbortController();
	const looking = Array.from({ length: 50 }, (_, at) => other(`i${at}.example`, fetch.signal));
	while (asked.length < 100) await new Promise((resolve) => setImmediate(resolve));
	fetch.abort();
	for (const one of await Promise.allSettled(looking))
		assert.deepEqual([one.status, one.status === "rejected" && one.reason.code], ["rejected", "ECANCELLED"]);
	await assert.rejects(other("issuer.example", fetch.signal));
	await assert.rejects(other("issuer.example", AbortSignal.timeout(10_000)), { code: "ETIMEOUT" });
});

test("at most one lookup by the system is open, however many fetches gave up, because none can be cancelled", async () => {
	let begun = 0;
	const open = Promise.withResolvers<LookupAddress[]>();
	const dns_lookups = createDnsLookups([], () => {
		begun++;
		return open.promise;
	});
	const needs = { private_issuers: ["k8s.lan"], dns_lookups };
	for (let count = 0; count < 20; count++) {
		const signal = AbortSignal.timeout(10);
		await assert.rejects(createFetch(needs, undefined, signal)("keys", "https://k8s.lan/"), {
			name: "IssuerUnavailable",
		});
	}
	assert.equal(begun, 1);
	open.resolve([]);
	assert.deepEqual(await dns_lookups.named("k8s.lan", AbortSignal.timeout(10_000)), []);
	assert.equal(begun, 2, "those whose fetch gave up are not looked up");
});
