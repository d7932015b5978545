import assert from "node:assert/strict";
import { test } from "node:test";
import { aConfig } from "../testing/rows.ts";
import { descriptorOf } from "./host/testing.ts";
import { runtimeOver } from "./testing.ts";

const ENGINE = { descriptor: descriptorOf("store"), kind: {} };
const CONFIG = aConfig({ engine: "store" });

test("an engine finds its processes at its first call, and again after its configuration was retired", async (t) => {
	const { runtime, seen } = runtimeOver(t, ENGINE);
	const engine = await runtime.withRow(CONFIG);
	assert.equal(seen.pools, 0);
	for (let call = 0; call < 2; call++) await engine.call("ping", {});
	assert.equal(seen.pools, 1);
	runtime.retire(CONFIG.id);
	await (await runtime.withRow(CONFIG)).call("ping", {});
	assert.equal(seen.pools, 2);
});

test("a connection that nobody asks for any more is closed after ten minutes", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	let now = 1000;
	t.mock.method(performance, "now", () => now);
	const pass = async (minutes: number) => {
		now += minutes * 60_000;
		t.mock.timers.tick(minutes * 60_000);
		await Promise.resolve();
	};
	const { runtime, seen } = runtimeOver(t, ENGINE);
	await runtime.withRow(CONFIG);
	await pass(9);
	await runtime.withRow(CONFIG);
	await pass(9);
	assert.equal(seen.closed, 0);
	await pass(2);
	assert.equal(seen.closed, 1);
});
