import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "./conformance.ts";

const CASE = "with engine:lease_hint, a credential has the name that the server chose until it is revoked";
const DESCRIPTOR = {
	...{ name: "sample", version: "0.1.0", display_name: "Sample", description: "An engine for tests" },
	...{ sdk_version: 1, min_core_version: "0.1.0", tier: "community" },
	capabilities: ["engine:dynamic_credentials", "engine:lease_hint", "engine:list"],
	default_roles: [{ name: "reader", config: {} }],
	config_schema: { type: "object", properties: {} },
};

/** An engine that keeps its credentials in memory, with one flaw: the argument. */
const ENGINE = `
const flaw = process.argv[1];
const made = new Set();
const answers = {
	describe: () => ({ data: { ...${JSON.stringify(DESCRIPTOR)}, capabilities: ["dynamic_credentials"] } }),
	generate({ _lease, role, ttl }) {
		if (role !== "reader" || ttl !== "10m") return { data: { name: "svc-00000000" } };
		if (flaw === "none to reach") return { error: "no system" };
		const name = flaw === "a name of its own" ? "svc-00000000" : _lease.name;
		if (flaw !== "a short list") made.add(name);
		return { data: flaw === "no name" ? { token: "t" } : { name } };
	},
	validate({ _lease, name }) {
		const isThere = made.delete(flaw === "a name of its own" ? name : _lease.name);
		if (flaw === "a long list") made.add(_lease.name);
		if (!isThere && flaw === "an absent user") return { error: "status 404" };
		return flaw === "a refusal" && !isThere ? { error: "no such user" } : { data: { valid: true, message: "" } };
	},
	list: () => ({ data: { names: [...made] } }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
	const { method, params = {} } = JSON.parse(line);
	process.stdout.write(JSON.stringify(answers[method](params)) + "\\n");
});`;

for (const [flaw, problem] of [
	["none", undefined],
	["no name", undefined],
	["none to reach", undefined],
	["an absent user", undefined],
	["a name of its own", /^generate .*\b_lease$/],
	["a short list", /^list .*\bgenerate\b/],
	["a long list", /^list .*\bvalidate\b/],
	["a refusal", /^validate, repeated\b/],
] as const) {
	test(`a lease of an engine with this flaw: ${flaw}`, async () => {
		const command = [process.execPath, "-e", ENGINE, flaw];
		const results = await testEngine({ command, descriptor: DESCRIPTOR, timeout_ms: 30_000, only: [CASE] });
		const [first, second] = results.map((result) => (result.passed ? undefined : result.problem));
		assert.deepEqual([results.length, first], [2, undefined]);
		if (problem === undefined) assert.equal(second, undefined);
		else assert.match(second ?? "", problem);
	});
}

test("an engine without names gets no lease name", async () => {
	const descriptor = { ...DESCRIPTOR, capabilities: ["engine:dynamic_credentials"] };
	const results = await testEngine({
		command: [process.execPath, "-e", ENGINE, "a name of its own"],
		descriptor,
		only: [CASE],
	});
	assert.deepEqual(
		results.map(({ passed }) => passed),
		[true, true],
	);
});
