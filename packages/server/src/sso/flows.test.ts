import assert from "node:assert/strict";
import { test } from "node:test";
import { createSessionKeys } from "../testing/session-keys.ts";
import { createTestSystem } from "../testing/system.ts";
import { createFlows, type Flow, usedBy } from "./flows.ts";

const CORP = { name: "corp", id: "settings-1" };
const NOW = "2030-01-01T00:00:00.000Z";

const name = (cookie: string) => cookie.split("=")[0];

/** The Cookie header that a browser sends after these Set-Cookie headers. */
const sent = (...cookies: string[]) => cookies.map((cookie) => cookie.split(";")[0]).join("; ");

function setUp(isSecure = true) {
	const [system, keys] = [createTestSystem(NOW), createSessionKeys()];
	const open = () => createFlows(system, keys, () => isSecure);
	return { system, keys, flows: open(), others: open() };
}

test("a flow comes back from the browser that began it, with everything that was drawn for it", () => {
	const { flows } = setUp();
	const waiting = { address: "http://127.0.0.1:40000/", challenge: "c".repeat(43) };
	const { flow, cookie } = flows.begin(CORP, waiting);
	assert.deepEqual(flows.open(sent(cookie), CORP), [flow]);
	assert.deepEqual(flow.waiting, waiting);
	for (const drawn of [flow.state.slice(1), flow.nonce, flow.verifier]) assert.match(drawn, /^[\w-]{43}$/);
	assert.match(flow.state, /^_/, "an id of an XML document does not begin with a digit");
	assert.equal(new Set([flow.state, flow.nonce, flow.verifier]).size, 3);
});

test("the cookie is for this host alone, out of reach of scripts, and gone after ten minutes", () => {
	const { cookie } = setUp().flows.begin(CORP, null);
	assert.match(cookie, /^__Host-svc_sso_\d{1,2}=[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=None$/);
	const plain = setUp(false).flows.begin(CORP, null).cookie;
	assert.match(plain, /^svc_sso_\d{1,2}=[\w-]+; Max-Age=600; Path=\/; HttpOnly$/);
});

test("two logins of one browser are two cookies, and the end of one takes only its own away", () => {
	const { flows } = setUp();
	const one = flows.begin(CORP, null);
	let two = flows.begin(CORP, null);
	while (name(two.cookie) === name(one.cookie)) two = flows.begin(CORP, null);
	assert.deepEqual(flows.open(`theme=dark; ${sent(one.cookie, two.cookie)}; a=b`, CORP), [one.flow, two.flow]);
	assert.equal(name(flows.clear(one.flow)), name(one.cookie));
	assert.notEqual(name(one.cookie), name(two.cookie));
	assert.match(flows.clear(one.flow), /=; Max-Age=0; /);
});

test("nothing opens that is another provider's, of other settings, too old, altered, of another era or database", () => {
	const { system, keys, flows } = setUp();
	const { cookie } = flows.begin(CORP, null);
	const altered = sent(cookie).replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
	const table: [why: string, opened: Flow[]][] = [
		["no cookie", flows.open(undefined, CORP)],
		["an empty one", flows.open("__Host-svc_sso_a=", CORP)],
		["no base64url", flows.open("__Host-svc_sso_a=%00;", CORP)],
		["another provider", flows.open(sent(cookie), { ...CORP, name: "other" })],
		["other settings", flows.open(sent(cookie), { ...CORP, id: "settings-2" })],
		["altered", flows.open(altered, CORP)],
		["under another name", flows.open(sent(cookie).replace("__Host-svc_sso_", "svc_sso_"), CORP)],
		["another era", createFlows(system, { ...keys, era: "later" }, () => true).open(sent(cookie), CORP)],
		["another database", setUp().flows.open(sent(cookie), CORP)],
	];
	for (const [why, opened] of table) assert.deepEqual(opened, [], why);
	system.advance(599_999);
	assert.equal(flows.open(sent(cookie), CORP).length, 1);
	system.advance(1);
	assert.deepEqual(flows.open(sent(cookie), CORP), []);
});

test("a flow ends on another server of the database, and under a key that was replaced meanwhile", () => {
	const { system, keys, flows, others } = setUp();
	const { flow, cookie } = flows.begin(CORP, null);
	assert.deepEqual(others.open(sent(cookie), CORP), [flow]);
	keys.rotate(system.now());
	assert.deepEqual(others.open(sent(cookie), CORP), [flow]);
	assert.equal(flows.open(sent(others.begin(CORP, null).cookie), CORP).length, 1);
});

test("who has a key that was replaced begins no flow with it", () => {
	const { system, keys, flows } = setUp();
	const { active } = keys.keys();
	keys.rotate(system.now());
	system.advance(10_000);
	const stolen = { active, byId: new Map([[active.id, active]]) };
	const { cookie } = createFlows(system, { keys: () => stolen, era: "" }, () => true).begin(CORP, null);
	assert.deepEqual(flows.open(sent(cookie), CORP), []);
});

test("a page that begins very many logins leaves a browser with a few cookies, and not all are looked at", () => {
	const { flows } = setUp();
	const cookies = Array.from({ length: 100 }, () => flows.begin(CORP, null).cookie);
	assert.ok(new Set(cookies.map(name)).size <= 16);
	assert.equal(flows.open(sent(...cookies), CORP).length, 16);
	assert.deepEqual(flows.open(`__Host-svc_sso_a=${"A".repeat(100_000)}`, CORP), []);
});

test("what ending a flow uses up is a digest of its own, remembered until the flow is too old", () => {
	const { flows } = setUp();
	const [one, two] = [flows.begin(CORP, null).flow, flows.begin(CORP, null).flow];
	assert.equal(usedBy(one).until, "2030-01-01T00:10:00.000Z");
	assert.equal(usedBy(one).digest.length, 32);
	assert.notDeepEqual(usedBy(one).digest, usedBy(two).digest);
});
