import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
	type Endpoint,
	type FakeProvider,
	type Fault,
	type Lie,
	startFakeProvider,
} from "../../../../../test/peers/oidc-fake.ts";
import { createOidc } from "./oidc.ts";
import { logIn, newFlow, settingsOf } from "./testing.ts";

/** The longest time for a login at a provider that is silent at one endpoint, by a timer that starts with it; the server waits for 5 s. */
const IN_TIME_MS = 10_000;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());

const ENDPOINTS = ["discovery", "keys", "token", "userinfo"] as const;

async function startWith(lie: Lie): Promise<FakeProvider> {
	const peer = await startFakeProvider(lie);
	ends.defer(peer.stop);
	return peer;
}

/** The message of a login at a provider with one faulty endpoint. Its id_token has no groups, so that userinfo is asked. */
async function messageOf(endpoint: Endpoint, fault: Fault): Promise<{ message: string; peer: FakeProvider }> {
	const peer = await startWith({ faults: { [endpoint]: fault } });
	let isLate = false;
	const timer = setTimeout(() => {
		isLate = true;
	}, IN_TIME_MS);
	const error = await logIn(createOidc(), settingsOf(peer, { groups_claim: "groups" })).catch((thrown) => thrown);
	assert.equal(error.name, "ProviderUnavailable", `${endpoint} ${fault.does}: ${error}`);
	assert.equal(error.cause, undefined);
	clearTimeout(timer);
	assert.ok(!isLate, `${endpoint} ${fault.does} ends in time`);
	return { message: error.message, peer };
}

const everywhere = (check: (endpoint: Endpoint) => Promise<void>) => () =>
	Promise.all(ENDPOINTS.map(check)).then(() => undefined);

test(
	"an endpoint that never answers, or a byte at a time, is abandoned after 5 s",
	everywhere(async (endpoint) => {
		for (const { message } of await Promise.all([
			messageOf(endpoint, { does: "hang" }),
			messageOf(endpoint, { does: "drip" }),
		])) {
			assert.match(message, /\bwithin 5 s$/);
		}
	}),
);

test("four logins of one source ask a provider and sixteen wait; another source does not wait for them", async () => {
	const peer = await startWith({ faults: { token: { does: "hang" } } });
	const [oidc, settings] = [createOidc(), settingsOf(peer)];
	const begin = (source: string) => {
		const flow = newFlow();
		const query = { state: flow.state, code: "of a stranger", iss: peer.issuer };
		return oidc.identify("1", settings, flow, query, source).catch(String);
	};
	const first = await Promise.race(Array.from({ length: 21 }, (_, line) => begin(`2001:db8:7:${line}::/64`)));
	assert.match(String(first), /\(oidc_logins_waiting_per_source\)/);
	void begin("192.0.2.2");
	const exchanges = () => peer.asked.filter((endpoint) => endpoint === "token").length;
	while (exchanges() < 5) await nextTurn();
	assert.equal(exchanges(), 5);
});

test(
	"an answer whose body is broken ends the login, and not the process",
	everywhere(async (endpoint) => {
		assert.match((await messageOf(endpoint, { does: "garble" })).message, /\(ECONNRESET\)$/);
	}),
);

test(
	"an answer of more than 1 MiB is not read to its end",
	everywhere(async (endpoint) => {
		assert.match((await messageOf(endpoint, { does: "flood" })).message, /\b1 MiB$/);
		const body = JSON.stringify({ much: "x".repeat(1_048_576) });
		assert.match((await messageOf(endpoint, { does: "answer", status: 200, body })).message, /\b1 MiB$/);
	}),
);

test(
	"a redirect is followed nowhere",
	everywhere(async (endpoint) => {
		for (const status of [301, 302, 303, 307, 308]) {
			const fault: Fault = { does: "answer", status, location: "/elsewhere", body: "{}" };
			const { message, peer } = await messageOf(endpoint, fault);
			assert.match(message, new RegExp(`\\(status ${status}\\)$`));
			assert.ok(!peer.asked.includes("elsewhere"));
		}
	}),
);

test(
	"an endpoint that is out of order, or ends the connection, is a provider that cannot be asked",
	everywhere(async (endpoint) => {
		for (const status of [204, 404, 429, 500, 503]) {
			assert.match(
				(await messageOf(endpoint, { does: "answer", status })).message,
				new RegExp(`\\(status ${status}\\)$`),
			);
		}
		assert.match((await messageOf(endpoint, { does: "drop" })).message, /\(\w+\)$/);
	}),
);

test("a discovery document that is none, of somebody else, or without what a login needs, is not used", async () => {
	const deep = `{"issuer":${"[".repeat(300_000)}${"]".repeat(300_000)}}`;
	for (const body of ["", "<html>", "[]", "null", '"text"', "{}", '{"issuer":7}', deep]) {
		const { message } = await messageOf("discovery", { does: "answer", status: 200, body });
		assert.match(message, /\bdiscovery document\b/);
	}
	for (const [wrong, message] of [
		[{ issuer: "https://other.example" }, /\banother issuer\b/],
		[{ token_endpoint: undefined }, /\btoken_endpoint\b/],
		[{ token_endpoint: "http://127.0.0.1/token" }, /\btoken_endpoint\b/],
		[{ authorization_endpoint: "javascript:alert(1)" }, /\bauthorization_endpoint\b/],
		[{ jwks_uri: "http://169.254.169.254/keys" }, /\bjwks_uri\b/],
		[{ userinfo_endpoint: "file:///etc/passwd" }, /\buserinfo_endpoint\b/],
		[{ id_token_signing_alg_values_supported: ["HS256", "none"] }, /\bno safe algorithm\b/],
	] as const) {
		const peer = await startWith({ metadata: (truth) => ({ ...truth, ...wrong }) });
		await assert.rejects(logIn(createOidc(), settingsOf(peer)), { name: "ProviderUnavailable", message });
		await assert.rejects(createOidc().test(settingsOf(peer)), { name: "ProviderUnavailable", message });
	}
});

test(
	"an answer with more than 20,000 commas and brackets is not parsed",
	everywhere(async (endpoint) => {
		const wide = `{${Array.from({ length: 20_002 }, (_, index) => `"${index}":1`)}}`;
		const deep = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
		const objects = `${'{"a":'.repeat(20_001)}1${"}".repeat(20_001)}`;
		for (const body of [wide, deep, objects]) {
			const { message } = await messageOf(endpoint, { does: "answer", status: 200, body });
			assert.match(message, /\b20000 commas and brackets$/);
		}
	}),
);

test("an id_token of more than 64 KiB, or with a header of more than 16 KiB, is not decoded", async () => {
	const header = (length: number) => "e".repeat(length);
	for (const [id_token, message] of [
		[header(16_385), /^the header of the provider's id_token is larger than 16 KiB$/],
		[`${header(16_385)}.e30.AAAA`, /^the header of the provider's id_token is larger than 16 KiB$/],
		[`e30.${"A".repeat(65_533)}`, /^the provider's id_token is larger than 64 KiB$/],
		[".".repeat(65_537), /^the provider's id_token is larger than 64 KiB$/],
	] as const) {
		const peer = await startWith({ token: (truth) => ({ ...truth, id_token }) });
		await assert.rejects(logIn(createOidc(), settingsOf(peer)), { name: "ProviderUnavailable", message });
	}
	const unread = `${header(16_384)}.${"A".repeat(65_536 - 16_390)}.AAAA`;
	const peer = await startWith({ token: (truth) => ({ ...truth, id_token: unread }) });
	await assert.rejects(logIn(createOidc(), settingsOf(peer)), { name: "SsoRefusal" });
	peer.lie = {
		claims: (truth) => ({ ...truth, groups: Array.from({ length: 1200 }, () => "a group's name of 30 characters") }),
	};
	assert.equal((await logIn(createOidc(), settingsOf(peer))).subject, "mallory");
});

test("signed userinfo has the limits of an id_token", async () => {
	const signed = (jwt: string): Fault => ({ does: "answer", status: 200, body: jwt, type: "application/jwt" });
	const long = await messageOf("userinfo", signed(`e30.${"A".repeat(65_533)}`));
	assert.match(long.message, /^(?!.*\bheader\b).*\buserinfo\b.*\b64 KiB$/);
	const header = await messageOf("userinfo", signed(`${"e".repeat(16_385)}.e30.AAAA`));
	assert.match(header.message, /\bheader\b.*\buserinfo\b.*\b16 KiB$/);
});

test("keys that are none, or more than 100, are not used", async () => {
	const message = /\b1 to 100 keys$/;
	for (const body of ["", "<html>", "[]", "{}", '{"keys":{}}', '{"keys":[]}', '{"keys":[7]}']) {
		assert.match((await messageOf("keys", { does: "answer", status: 200, body })).message, message);
	}
	const peer = await startWith({ keys: (truth) => [...truth, ...Array(99).fill({ kty: "oct", k: "AAAA" })] });
	await logIn(createOidc(), settingsOf(peer));
	peer.lie = { keys: (truth) => [...truth, ...Array(100).fill({ kty: "oct", k: "AAAA" })] };
	await assert.rejects(logIn(createOidc(), settingsOf(peer)), { name: "ProviderUnavailable", message });
	await assert.rejects(createOidc().test(settingsOf(peer)), { name: "ProviderUnavailable", message });
});

test("an answer nested too deeply is refused, and nothing breaks", async () => {
	const deep = (text: string) => text.replace("deep", `${"[".repeat(10_000)}${"]".repeat(10_000)}`);
	const part = (text: string) => Buffer.from(deep(text)).toString("base64url");
	const header = part('{"alg":"ES256","kid":"first"}');
	const answer = (body: string): Fault => ({ does: "answer", status: 200, body });
	const id_token = `${header}.${part('{"iss":"deep","sub":deep}')}.`;
	for (const [endpoint, body] of [
		["keys", deep('{"keys":[{"kty":"EC","kid":"first","crv":deep}]}')],
		["token", deep('{"access_token":deep}')],
		["token", JSON.stringify({ access_token: "a", token_type: "Bearer", id_token })],
		["userinfo", deep('{"sub":deep}')],
	] as const) {
		const peer = await startWith({ faults: { [endpoint]: answer(body) } });
		await assert.rejects(logIn(createOidc(), settingsOf(peer, { groups_claim: "groups" })), { name: "SsoRefusal" });
	}
});

test("a provider that could not be asked, or has moved, is asked again by the next login", async () => {
	const peer = await startWith({ faults: { discovery: { does: "answer", status: 503 } } });
	const oidc = createOidc();
	await assert.rejects(logIn(oidc, settingsOf(peer)), { name: "ProviderUnavailable" });
	peer.lie = {
		metadata: (truth) => ({ ...truth, token_endpoint: `${peer.issuer}/elsewhere` }),
		faults: { elsewhere: { does: "answer", status: 404 } },
	};
	await assert.rejects(logIn(oidc, settingsOf(peer)), { name: "ProviderUnavailable" });
	peer.lie = {};
	assert.equal((await logIn(oidc, settingsOf(peer))).subject, "mallory");
	const asked = peer.asked.length;
	await logIn(oidc, settingsOf(peer));
	assert.deepEqual(peer.asked.slice(asked), ["authorize", "token"], "addresses and keys are remembered");
});
