import assert from "node:assert/strict";
import { test } from "node:test";
import { aTrust } from "../testing/rows.ts";
import { tokenLabel } from "../tokens/model.ts";
import { type Trust, trustFacts } from "../trusts/model.ts";
import type { EventType } from "./event-types.ts";
import { LoggedMachines } from "./machine-rights.ts";
import type { EventData, StoredEvent } from "./model.ts";

const MACHINE = "0190d1c4-6a3e-7cc1-8f0e-0d7a3f1b2c4d";

/** Name and prefix of every token. */
const NAMED = { name: "t", prefix: "svc_abcd" };

/** Compares the rows with the log, whose machine and its realm are there. Returns each problem. */
function compare(trusts: Trust[], log: [type: EventType, facts: EventData][], tokens: string[] = []) {
	const machine = { id: MACHINE, realm_id: "r", name: "m", role: "viewer", scopes: "read" };
	const rows = {
		machines: [{ ...machine, environment: null, engines: null }],
		machine_tokens: tokens.map((id) => ({ id, ...NAMED, machine_id: MACHINE, expires_at: "2030-01-01" })),
		trusts,
	};
	const logged = new LoggedMachines(rows);
	const set = ["machine.set", { machine_id: MACHINE, ...machine, environment: "", engines: "" }] as const;
	for (const [index, [type, facts]] of [set, ...log].entries()) {
		const event = { seq: index + 1, timestamp: "2030-01-01", type, actor: "a", realm_id: "r", realm: "shop" };
		logged.take({ ...event, data: JSON.stringify(facts), hash: Buffer.alloc(32) } satisfies StoredEvent);
	}
	return logged.differences(rows).map(({ kind, id, problem, seq }) => [kind, id, problem, seq]);
}

const made = (trust: Trust) => ["machine.trust.set", trustFacts(trust)] as [EventType, EventData];
const given = (token_made: string, trust_id: string) =>
	["machine.token.created", { token_made, machine_id: MACHINE, trust_id, expires_at: "2030-01-01" }] as [
		EventType,
		EventData,
	];

test("a trust that matches the log is not reported", () => {
	const trusts = [aTrust(MACHINE), aTrust(MACHINE, { jwks: '{"keys":[]}', keys_host: null, single_use: false })];
	assert.deepEqual(compare(trusts, trusts.map(made)), []);
});

test("a trust is reported when any column differs from the log", () => {
	const trust = aTrust(MACHINE, { jwks: '{"keys":[]}' });
	const changes: Partial<Trust>[] = [
		...[{ issuer: "https://evil.example" }, { audience: "other" }, { claims: "{}" }, { single_use: false }],
		...[{ max_ttl_ms: 1 }, { jwks: '{"keys":[1]}' }, { keys_host: "evil.example" }, { machine_id: "other" }],
	];
	for (const change of changes) {
		const found = compare([{ ...trust, ...change }], [made(trust)]);
		assert.deepEqual(found, [["trust", trust.id, "changed", 2]], JSON.stringify(change));
	}
	assert.deepEqual(compare([trust], []), [["trust", trust.id, "unknown", undefined]]);
});

test("a machine's token under another's name or prefix, by which people revoke it, is reported", () => {
	const token = (token_label: string) =>
		["machine.token.created", { token_made: "t", token_label, machine_id: MACHINE, expires_at: "2030-01-01" }] as [
			EventType,
			EventData,
		];
	assert.deepEqual(compare([], [token(tokenLabel(NAMED))], ["t"]), []);
	for (const other of [
		{ ...NAMED, name: "u" },
		{ ...NAMED, prefix: "svc_efgh" },
	])
		assert.deepEqual(compare([], [token(tokenLabel(other))], ["t"]), [["machine_token", "t", "changed", 2]]);
});

test("a trust and its tokens end when it is removed or replaced, or when its machine is deleted or its realm restored", () => {
	const trust = aTrust(MACHINE);
	const replacing = made(aTrust(MACHINE, { name: trust.name }));
	for (const [type, facts] of [
		["machine.trust.deleted", { trust_id: trust.id }],
		["realm.restored", {}],
		replacing,
	] as [EventType, EventData][]) {
		const log = [made(trust), given("t", trust.id), [type, facts]] as [EventType, EventData][];
		const ended = [
			["machine_token", "t", "ended", 4],
			["trust", trust.id, "ended", 4],
		];
		assert.deepEqual(compare([trust], log, ["t"]), ended, type);
	}
	assert.deepEqual(compare([trust], [made(trust), replacing, given("t", trust.id)]), [["trust", trust.id, "ended", 3]]);
});

test("what is left of a revocation in parts is reported once the last part's event says that nothing is", () => {
	const trust = aTrust(MACHINE, { created_by: "a", created_at: "2029-12-31" });
	const log = [made(trust), given("t", trust.id)];
	const revoked = (facts: EventData) => ["access.revoked", facts] as [EventType, EventData];
	const what: EventData = { user_id: "a", with_made: true };
	assert.deepEqual(compare([trust], [...log, revoked({ ...what, more: true })], ["t"]), []);
	assert.deepEqual(compare([trust], [...log, revoked({ more: true })], ["t"]), [], "a realm's");
	const ended = [
		["machine", MACHINE, "ended", 5],
		["machine_token", "t", "ended", 5],
		["trust", trust.id, "ended", 5],
	];
	assert.deepEqual(compare([trust], [...log, revoked({ ...what, more: true }), revoked(what)], ["t"]), ended);
});

test("a machine that a part of a revocation removed is not missing", () => {
	const logged = new LoggedMachines({ machines: [], machine_tokens: [], trusts: [] });
	const facts = { machine_id: MACHINE, name: "m", role: "viewer", scopes: "read", environment: "", engines: "" };
	for (const [seq, type, data] of [
		[1, "machine.set", facts],
		[2, "access.revoked", { user_id: "a", with_made: true, more: true }],
	] as const) {
		const event = { seq, type, timestamp: "2030-01-01", actor: "a", realm_id: "r", realm: "shop" };
		logged.take({ ...event, data: JSON.stringify(data), hash: Buffer.alloc(32) });
	}
	assert.deepEqual(logged.differences({ machines: [], machine_tokens: [], trusts: [] }), []);
});

test("a trust and a token of a deleted realm are not reported: they grant nothing, and are removed in parts", () => {
	const trust = aTrust(MACHINE);
	assert.deepEqual(compare([trust], [made(trust), given("t", trust.id), ["realm.deleted", {}]], ["t"]), []);
});
