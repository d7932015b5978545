import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "../leases/model.ts";
import { aLease } from "../testing/rows.ts";
import type { ConfigSealer } from "./config/sealed-config.ts";
import { TargetError, type TargetErrorKind } from "./kinds/connector.ts";
import { needsOf } from "./kinds/testing.ts";
import { thirdParty } from "./kinds/third-party/kind.ts";
import { removeCredential, removeOrphan } from "./revoke.ts";
import type { ReadyEngine, Runtime } from "./runtime.ts";

const sealer = {} as ConfigSealer;

/** A configuration, its realm, and its target's answers. */
interface Way {
	id: string;
	realm_id?: string;
	target?: string;
	failure?: TargetErrorKind;
	/** True if the target keeps credentials that it reports as removed. */
	lies?: boolean;
}

/** Makes a runtime with current and kept configurations, and the ids of those through which something was removed. */
function setUp(current: Way | undefined, kept: Way[]) {
	const asked: string[] = [];
	const ready = ({ id, realm_id = "", target = "a", failure, lies = false }: Way) => {
		const remove = async () => {
			asked.push(id);
			if (failure !== undefined) throw new TargetError(failure, `${id} says no`);
		};
		const connector = { remove, exists: async () => lies, fence: async () => true };
		return { config: { id, realm_id, fields: {} }, target, connector } as unknown as ReadyEngine;
	};
	const engines = kept.map(ready);
	const runtime = {
		forRealm: async () => (current === undefined ? Promise.reject(new Error("not configured")) : ready(current)),
		kept: async () => engines,
		withConfig: async () => Promise.reject(new Error("it is gone")),
	} as unknown as Runtime;
	return { runtime, sealer, asked };
}

const lease: Lease = {
	...aLease("realm", { target: "a", config_realm_id: "own" }),
	...{ state: "revoking", attempts: 0, last_error: "", reason: "requested" },
	...{ payload: null, delivered_at: null, closed_at: null },
};

const WAYS: [what: string, current: Way | undefined, kept: Way[], asked: string[], outcome: string][] = [
	["the one that holds now", { id: "now" }, [{ id: "former" }], ["now"], "absent"],
	["a former one after a move", { id: "now", target: "b" }, [{ id: "former" }], ["former"], "absent"],
	["a former one after a removal", undefined, [{ id: "former" }], ["former"], "absent"],
	[
		"each that may be right when one is denied",
		{ id: "now", failure: "denied" },
		[{ id: "newer", failure: "denied" }, { id: "older" }, { id: "oldest" }],
		["now", "newer", "older"],
		"absent",
	],
	[
		"those that held in its scope before those of others",
		undefined,
		[
			{ id: "other", realm_id: "other" },
			{ id: "own", realm_id: "own", failure: "denied" },
		],
		["own", "other"],
		"absent",
	],
	[
		"no other one when the target is away",
		{ id: "now", failure: "unreachable" },
		[{ id: "x" }],
		["now"],
		"unreachable",
	],
	["no other one when it lies", { id: "now", lies: true }, [{ id: "x" }], ["now"], "present"],
	["none that leads elsewhere", { id: "now", target: "b" }, [{ id: "x", target: "c" }], [], "unreachable"],
];
for (const [what, current, kept, expected, outcome] of WAYS) {
	test(`a credential is removed through ${what}`, async () => {
		const { asked, ...needs } = setUp(current, kept);
		const removal = await removeCredential(needs, lease);
		assert.deepEqual([asked, removal.outcome], [expected, outcome]);
	});
}

test("when all are denied, the first says why", async () => {
	const { asked, ...needs } = setUp({ id: "now", failure: "denied" }, [{ id: "former", failure: "denied" }]);
	assert.deepEqual(await removeCredential(needs, lease), { outcome: "denied", message: "now says no" });
	assert.deepEqual(asked, ["now", "former"]);
});

test("a name that no lease knows is removed where it was seen, and looked for", async () => {
	for (const [way, outcome] of [
		[{ id: "x" }, "absent"],
		[{ id: "x", lies: true }, "present"],
		[{ id: "x", failure: "unreachable" }, "unreachable"],
	] as const) {
		const { runtime } = setUp(undefined, [way]);
		const [engine] = await runtime.kept();
		assert.ok(engine);
		assert.equal((await removeOrphan({ sealer }, engine, { name: "svc_00000000", scope: "" })).outcome, outcome);
	}
});

test("a credential of a third party's engine is not settled after the engine's report of it was removed", async () => {
	const descriptor = { capabilities: ["engine:dynamic_credentials", "engine:lease_hint"] };
	const call = async () => ({ data: { valid: true } });
	const connector = await thirdParty.connect?.({ ...needsOf({}), descriptor, call } as never);
	const engine = { config: { id: "now", realm_id: "", fields: {} }, target: "a", connector } as unknown as ReadyEngine;
	const runtime = { forRealm: async () => engine, kept: async () => [], withConfig: async () => engine } as never;
	const outcomeOf = async (given: Partial<Lease>) => {
		const openPayload = async () => ({ key: "value" });
		const needs = { runtime, sealer: { openPayload } as unknown as ConfigSealer };
		return (await removeCredential(needs, { ...lease, name: "svc_00000000", ...given })).outcome;
	};
	assert.equal(await outcomeOf({ payload: Buffer.from("sealed") }), "absent");
	for (const reason of ["expired", "requested", "realm_deleted", "undelivered", "uncertain"] as const)
		assert.equal(await outcomeOf({ payload: null, reason }), "rejected", reason);
	assert.equal(await outcomeOf({ payload: null, reason: "zombie" }), "absent");
	assert.equal(await outcomeOf({ payload: null, reason: "uncertain", state: "uncertain" }), "unproven");
});
