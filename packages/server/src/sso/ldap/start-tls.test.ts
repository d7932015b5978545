import assert from "node:assert/strict";
import { test } from "node:test";
import {
	ALICE,
	ber,
	type FakeLdap,
	honest,
	message,
	type Reply,
	type Request,
	result,
} from "../../../../../test/peers/ldap-fake.ts";
import { fakeFor, ldapFor, settingsOf, unavailableAs } from "./testing.ts";

const PASSWORD = "alice's password";

const settingsFor = (fake: FakeLdap) =>
	settingsOf({
		url: fake.url,
		ca_cert: fake.ca,
		start_tls: true,
		bind_dn: "cn=svc",
		bind_password: "bound to be kept",
	});

/** Answers with `reply` in clear, and honestly when encrypted. */
const inClear = (reply: (request: Request) => Reply) => (request: Request) =>
	request.isEncrypted ? honest(request) : reply(request);

const agree = (request: Request, more: Buffer = Buffer.alloc(0)): Reply => ({
	clear: Buffer.concat([result(request, 0), more]),
	next: "tls",
});

function nothingInClear(fake: FakeLdap): void {
	const clear = fake.requests.filter((request) => !request.isEncrypted).map((request) => request.operation);
	assert.deepEqual(new Set(clear.filter((operation) => operation !== "unbind")), new Set(["start_tls"]));
	for (const secret of [PASSWORD, "bound to be kept", "cn=svc", ALICE]) assert.ok(!fake.received().includes(secret));
}

test("after StartTLS everything is encrypted", async (t) => {
	const fake = await fakeFor(t, inClear(agree));
	assert.equal((await ldapFor(t).identify(settingsFor(fake), "alice", PASSWORD)).subject, "0b8f");
	nothingInClear(fake);
});

test("a directory that refuses StartTLS, or has it refused on its way, gets nothing in clear", async (t) => {
	for (const code of [1, 2, 13, 52]) {
		const fake = await fakeFor(
			t,
			inClear((request) => result(request, code)),
		);
		await assert.rejects(
			ldapFor(t).identify(settingsFor(fake), "alice", PASSWORD),
			unavailableAs(/\brefuses StartTLS\b/),
		);
		nothingInClear(fake);
	}
	const dropping = await fakeFor(
		t,
		inClear(() => "drop"),
	);
	await assert.rejects(ldapFor(t).identify(settingsFor(dropping), "alice", PASSWORD), unavailableAs(/\bclosed\b/));
});

test("a directory that agrees and then speaks no TLS gets nothing in clear", async (t) => {
	const garbage = await fakeFor(
		t,
		inClear((request) => (request.operation === "start_tls" ? result(request, 0) : Buffer.from("no TLS at all"))),
	);
	const socket = ldapFor(t).identify(settingsFor(garbage), "alice", PASSWORD);
	await assert.rejects(socket, unavailableAs(/\bTLS handshake\b|\bin time\b|\bclosed\b/));
	assert.ok(!garbage.received().includes("cn=svc"));
});

test("an answer that is begun in clear is not finished by what comes encrypted", async (t) => {
	// The second message of a connection is a bind. Its forged success lacks one byte: the byte that begins any encrypted answer.
	const success = message(2, ber(0x61, ber(0x0a, "\0"), ber(0x04, ""), ber(0x04, "0")));
	const fake = await fakeFor(t, (request) => {
		if (!request.isEncrypted) return agree(request, success.subarray(0, -1));
		const isHers = request.operation === "bind" && request.body.includes(ALICE);
		return isHers ? result(request, 49) : honest(request);
	});
	const anonymous = settingsOf({ url: fake.url, ca_cert: fake.ca, start_tls: true });
	await assert.rejects(
		ldapFor(t).identify(anonymous, "alice", "not her password"),
		unavailableAs(/\bafter StartTLS\b/),
	);
});

test("a certificate of another authority or for another name ends it, before and after StartTLS", async (t) => {
	const other = await fakeFor(t, honest, { names: ["127.0.0.1", "localhost"] });
	const names = { names: ["ldap.example.com"] };
	const wrong: [fake: FakeLdap, ca: string, message: RegExp][] = [];
	for (const options of [{}, { tls: true }]) {
		const stranger = await fakeFor(t, inClear(agree), options);
		const misnamed = await fakeFor(t, inClear(agree), { ...options, ...names });
		wrong.push([stranger, other.ca, /\bca_cert$/], [misnamed, misnamed.ca, /\banother name\b/]);
	}
	for (const [fake, ca_cert, message] of wrong) {
		const settings = { ...settingsFor(fake), ca_cert };
		await assert.rejects(ldapFor(t).identify(settings, "alice", PASSWORD), unavailableAs(message));
		assert.deepEqual(
			fake.requests.filter(({ isEncrypted }) => isEncrypted),
			[],
		);
		assert.ok(!fake.received().includes("cn=svc"));
	}
});
