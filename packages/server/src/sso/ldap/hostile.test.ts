import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { networkInterfaces } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { after, type TestContext, test } from "node:test";
import { freePort } from "../../../../../test/peers/free-port.ts";
import {
	ALICE,
	ber,
	ENDLESS,
	entry,
	type FakeLdapOptions,
	flood,
	honest,
	honestBut,
	loop,
	message,
	type Reply,
	type Request,
	result,
	silence,
} from "../../../../../test/peers/ldap-fake.ts";
import { until } from "../../testing/until.ts";
import { createLdap } from "./ldap.ts";
import { fakeFor, ldapFor, refusedAs, settingsOf, unavailableAs } from "./testing.ts";

const PASSWORD = "alice's password";
/** The longest time for a login, by a timer that starts with it: the server waits four seconds, and timers end in order even on a busy machine. */
const LIMIT_MS = 5000;

const isIPv6 = Object.values(networkInterfaces())
	.flat()
	.some((one) => one?.address === "::1");

type Outcome = (error: unknown) => true;

const ldap = createLdap();
after(() => ldap.close());

/** A login at a directory that misbehaves in this way. The login must end in time and delay nobody. */
async function login(t: TestContext, reply: (request: Request) => Reply, outcome: Outcome, options?: FakeLdapOptions) {
	const fake = await fakeFor(t, reply, options);
	const loop = monitorEventLoopDelay({ resolution: 5 });
	loop.enable();
	let isLate = false;
	const timer = setTimeout(() => {
		isLate = true;
	}, LIMIT_MS);
	const settings = settingsOf({ url: fake.url, ca_cert: fake.ca, bind_dn: "cn=svc", bind_password: "bound" });
	await assert.rejects(ldap.identify(settings, "alice", PASSWORD), outcome);
	clearTimeout(timer);
	assert.ok(!isLate, "the login ends in time");
	loop.disable();
	// The directory's side runs in this thread too, and the machine may be busy: what matters is that nothing waits for the thread.
	assert.ok(loop.max / 1e6 < 1000, `the event loop stood for ${loop.max / 1e6} ms`);
	return { fake, settings };
}

/** Honest answers, except to Alice's own bind. */
const butHerBind = (reply: (request: Request) => Reply) =>
	honestBut("bind", (request) => (request.body.includes(ALICE) ? reply(request) : honest(request)));

const silent = unavailableAs(/\bin time\b/);
const lost = unavailableAs(/\bclosed\b/);
const noLdap = unavailableAs(/\bLDAP\b/);
const unreadable = unavailableAs(/cannot be read/);
const tooMuch = unavailableAs(/\bmore than\b/);

test("the honest one lets Alice in", async (t) => {
	const fake = await fakeFor(t, honest);
	const asserted = await ldap.identify(settingsOf({ url: fake.url }), "alice", PASSWORD);
	assert.deepEqual([asserted.subject, asserted.email], ["0b8f", "alice@example.com"]);
});

test("one that is not there", async () => {
	const settings = settingsOf({ url: `ldap://127.0.0.1:${await freePort()}` });
	await assert.rejects(ldap.identify(settings, "alice", PASSWORD), unavailableAs(/\burl\b/));
	const nowhere = settingsOf({ url: "ldaps://directory.invalid" });
	await assert.rejects(ldap.identify(nowhere, "alice", PASSWORD), unavailableAs(/\burl\b/));
});

test("one that never answers: at the first step, at her bind, and in the middle of TLS", {
	concurrency: true,
}, async (t) => {
	await Promise.all([
		t.test("ever", async (t) => void (await login(t, silence, silent))),
		t.test("her bind", async (t) => void (await login(t, butHerBind(silence), silent))),
		t.test("the search", async (t) => void (await login(t, honestBut("search", silence), silent))),
		t.test("TLS", async (t) => {
			const fake = await fakeFor(t, silence);
			const settings = settingsOf({ url: fake.url.replace("ldap:", "ldaps:") });
			await assert.rejects(ldap.identify(settings, "alice", PASSWORD), silent);
		}),
	]);
});

test("one directory is asked three questions, sixteen wait, and a further one is refused by name", async (t) => {
	const fake = await fakeFor(t, silence);
	const [ldap, settings] = [ldapFor(t), settingsOf({ url: fake.url })];
	const [limit = assert.fail()] = ldap.limits;
	for (let count = 0; count < 3 + 16; count++) ldap.identify(settings, "alice", PASSWORD).catch(() => undefined);
	assert.deepEqual([limit.used(), limit.max], [16, 16]);
	const isTooMany = unavailableAs(/\(ldap_questions_waiting_per_directory\)/);
	await assert.rejects(ldap.identify(settings, "alice", PASSWORD), isTooMany);
	assert.equal(limit.refused?.(), 1);
});

test("one that drops: on connecting, at a bind, at her bind, and in the middle of an answer", async (t) => {
	await login(t, honest, lost, { greet: (socket) => void socket.destroy() });
	await login(
		t,
		honestBut("bind", () => "drop"),
		lost,
	);
	await login(
		t,
		butHerBind(() => "drop"),
		lost,
	);
	await login(
		t,
		honestBut("search", (request) => (socket) => void socket.end(honest(request).subarray(0, 40))),
		lost,
	);
	await login(
		t,
		butHerBind(() => (socket) => void socket.resetAndDestroy()),
		lost,
	);
});

test("one that says something else", async (t) => {
	const says = (bytes: Buffer | string): FakeLdapOptions => ({ greet: (socket) => void socket.write(bytes) });
	const nothing = () => Buffer.alloc(0);
	await login(t, nothing, noLdap, says(Buffer.from([0x30, 0x80, 0, 0])));
	await login(t, nothing, noLdap, says(ber(0x30, ber(0x02, Buffer.from([1])), ber(0x7f, ""))));
	await login(t, () => Buffer.from("30050201016180", "hex"), unavailableAs(/./));
	// It is chance whether random bytes are refused or taken for an unfinished message.
	await login(t, () => randomBytes(65_536), unavailableAs(/./));
	await login(t, nothing, unavailableAs(/./), says("HTTP/1.1 400 Bad Request\r\n\r\n"));
	await login(t, (request) => result(request, 99), unreadable);
	const { url } = await fakeFor(t, nothing, says("HTTP/1.1 400 Bad Request\r\n\r\n"));
	const settings = settingsOf({ url: url.replace("ldap:", "ldaps:") });
	await assert.rejects(ldap.identify(settings, "alice", PASSWORD), unavailableAs(/\bTLS handshake\b/));
});

test("one that floods: a message without end, messages nobody asked for, and entries without end", async (t) => {
	const unasked = Buffer.concat(Array.from({ length: 500 }, () => result({ id: 99, operation: "other" }, 0)));
	await login(t, () => flood(ENDLESS), tooMuch);
	await login(t, () => flood(unasked), tooMuch);
	await login(
		t,
		honestBut("search", (request) => flood(entry(request.id, ALICE, { cn: ["x".repeat(1000)] }))),
		refusedAs("unknown"),
	);
	const groups = (request: Request) =>
		request.body.includes("groups") ? flood(entry(request.id, "cn=a", { cn: ["a"] })) : honest(request);
	const fake = await fakeFor(t, honestBut("search", groups));
	const settings = settingsOf({ url: fake.url, group_base_dn: "ou=groups" });
	await assert.rejects(ldap.identify(settings, "alice", PASSWORD), unavailableAs(/\b1000 groups\b/));
});

test("one whose answer is a loop for its reader: the thread is ended, and the next login has another", async (t) => {
	let answer = ({ id }: Request): Buffer => loop(id);
	const reply = honestBut("search", (request) => answer(request));
	const { settings } = await login(t, reply, unavailableAs(/cannot be read|did not answer in time/));
	answer = honest;
	assert.equal((await ldap.identify(settings, "alice", PASSWORD)).subject, "0b8f");
});

test("one that shows two people, more than it may, or none", async (t) => {
	const people = (count: number) =>
		honestBut("search", (request) => {
			const each = Array.from({ length: count }, (_, n) =>
				entry(request.id, `uid=${n},dc=test`, { entryUUID: [`${n}`] }),
			);
			return Buffer.concat([...each, result(request, 0)]);
		});
	for (const count of [0, 2, 3]) await login(t, people(count), refusedAs("unknown"));
	await login(
		t,
		honestBut("search", (request) => result(request, 4)),
		refusedAs("unknown"),
	);
	const nameless = (request: Request) =>
		Buffer.concat([entry(request.id, "", { entryUUID: ["1"] }), result(request, 0)]);
	await login(t, honestBut("search", nameless), refusedAs("unknown"));
});

test("somebody whom it does not know costs the same questions, and the password is not tried on another", async (t) => {
	const questions = async (reply: (request: Request) => Reply) => {
		const { fake } = await login(t, reply, () => true);
		return fake.requests.map(({ operation }) => operation);
	};
	const refusing = butHerBind((request) => result(request, 49));
	const nobody = (request: Request) =>
		request.operation === "bind" && request.body.includes("cn=svc-no-such-person")
			? result(request, 49)
			: honestBut("search", (search) => result(search, 0))(request);
	assert.deepEqual(await questions(nobody), await questions(refusing));
	const { fake } = await login(t, nobody, refusedAs("unknown"));
	assert.ok(!fake.received().includes(PASSWORD));
});

test("one at an address of IPv6", { skip: isIPv6 ? false : "this machine has no IPv6" }, async (t) => {
	for (const start of [{}, { tls: true }]) {
		const fake = await fakeFor(t, honest, { host: "::1", ...start });
		const settings = settingsOf({ url: fake.url, ca_cert: fake.ca });
		assert.equal((await ldap.identify(settings, "alice", PASSWORD)).subject, "0b8f");
	}
});

test("one that refers to another: nobody goes there", async (t) => {
	const elsewhere = await fakeFor(t, honest);
	const referral = (request: Request) => result(request, 10, ber(0xa3, ber(0x04, `${elsewhere.url}/dc=test`)));
	await login(t, honestBut("search", referral), unavailableAs(/\banother server\b/));
	await login(t, honestBut("bind", referral), unavailableAs(/\banother server\b/));
	const reference = (request: Request) =>
		Buffer.concat([message(request.id, ber(0x73, ber(0x04, `${elsewhere.url}/dc=test`))), result(request, 0)]);
	await login(t, honestBut("search", reference), refusedAs("unknown"));
	assert.equal(elsewhere.connections(), 0);
});

test("one that takes every bind, and then says that nobody is there", async (t) => {
	const anonymous = (request: Request) => result(request, 0, ber(0x8b, ""));
	const isHers = { bound: false };
	await login(
		t,
		(request) => {
			if (request.operation === "bind") isHers.bound = request.body.includes(ALICE);
			return request.operation === "who_am_i" && isHers.bound ? anonymous(request) : honest(request);
		},
		refusedAs("password"),
	);
});

test("one that does not know who is there is believed its bind", async (t) => {
	const fake = await fakeFor(
		t,
		honestBut("who_am_i", (request) => result(request, 2)),
	);
	const { subject } = await ldap.identify(settingsOf({ url: fake.url }), "alice", PASSWORD);
	assert.equal(subject, "0b8f");
});

test("one that says why it does not take her password now", async (t) => {
	for (const code of [19, 32, 48, 49, 50, 53])
		await login(
			t,
			butHerBind((request) => result(request, code)),
			refusedAs("password"),
		);
	for (const code of [51, 52])
		await login(
			t,
			butHerBind((request) => result(request, code)),
			unavailableAs(/busy or shutting down/),
		);
	for (const code of [1, 8, 13]) {
		await login(
			t,
			butHerBind((request) => result(request, code)),
			unavailableAs(new RegExp(`\\(result code ${code}\\)$`)),
		);
	}
});

test("an identifier in bytes is written as digits, and one that is no text is none", async (t) => {
	const guid = Buffer.from("00ff81c30a2e4b6f9d112233445566ee", "hex");
	const fake = await fakeFor(
		t,
		honestBut("search", (request) =>
			Buffer.concat([entry(request.id, ALICE, { objectGUID: [guid], uid: [guid] }), result(request, 0)]),
		),
	);
	const by = (id_attribute: string) => ldap.identify(settingsOf({ url: fake.url, id_attribute }), "alice", PASSWORD);
	assert.equal((await by("objectGUID")).subject, guid.toString("hex"));
	await assert.rejects(by("uid"), refusedAs("subject"));
});

test("a login leaves no connection, however it ended", async (t) => {
	const { fake } = await login(
		t,
		butHerBind((request) => result(request, 49)),
		refusedAs("password"),
	);
	await until(() => fake.open() === 0);
});
