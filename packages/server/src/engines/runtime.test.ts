import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Fields } from "@svc/protocol";
import containerorch from "../../../../plugins/containerorch/plugin.json" with { type: "json" };
import { aConfig } from "../testing/rows.ts";
import { createTestSystem } from "../testing/system.ts";
import { builtInEntry } from "./host/built-in.ts";
import type { BuiltInEngine } from "./host/catalog.ts";
import type { EngineSettings } from "./host/host.ts";
import type { Connector } from "./kinds/connector.ts";
import * as KINDS from "./kinds/registry.ts";
import type { RuntimeNeeds } from "./runtime.ts";
import { createRuntime, type Runtime } from "./runtime.ts";

const ENGINE: BuiltInEngine = {
	descriptor: containerorch,
	network: true,
	launch: { file: "", arguments: [] },
	node: "arguments",
};

type Settings = Pick<EngineSettings, "environment" | "reads">;

/** Makes a runtime over one engine, the list of its processes' settings, and counts of closed connections and of pools that were asked for. */
function setUp(t: TestContext, fields: Fields, engine_environment: Record<string, string> = {}) {
	const asked: Settings[] = [];
	const seen = { closed: 0, pools: 0 };
	const host = {
		pool(_: string, { environment, reads }: EngineSettings) {
			seen.pools++;
			return {
				async call() {
					asked.push({ environment, reads });
					return { data: {} };
				},
			};
		},
		retire: () => undefined,
		close: async () => undefined,
	};
	const connector = { close: async () => void seen.closed++ } as unknown as Connector;
	const entry = builtInEntry(ENGINE, () => ({ ...KINDS.containerorch, connect: async () => connector }));
	const needs = {
		store: { engines: { configs: async () => [] } },
		system: createTestSystem(),
		sealer: { open: async () => fields },
		catalog: { byType: new Map([[entry.type, entry]]), list: () => [entry] },
		host,
		engine_environment,
	} as unknown as RuntimeNeeds;
	const runtime: Runtime = createRuntime(needs);
	t.after(() => runtime.close());
	return { runtime, asked, seen };
}

const ORCHESTRATOR = aConfig({ engine: "containerorch" });

const SERVER = "https://10.0.0.1:6443";
const OUTSIDE = { SVC_ORCH_API_SERVER: SERVER };
const POD = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
const BOTH = { ...POD, ...OUTSIDE };

type Way = [fields: Fields, outside?: Record<string, string>];

const [A, B] = [{ kubeconfig_path: "/a/config" }, { kubeconfig_path: "/b/config" }];
const PLACES: [what: string, one: Way, other: Way, isSame: boolean][] = [
	["an address that is empty is none", [A], [{ ...A, api_server: "" }], true],
	["the kubeconfig tells where an empty address leads", [{ ...A, api_server: "" }], [{ ...B, api_server: "" }], false],
	["an address stands above a kubeconfig", [{ ...A, api_server: SERVER }], [{ ...B, api_server: SERVER }], true],
	[
		"the server's own address stands above a kubeconfig",
		[A, OUTSIDE],
		[A, { SVC_ORCH_API_SERVER: "https://b" }],
		false,
	],
	["an empty address stands above the server's own", [{ ...A, api_server: "" }, OUTSIDE], [A], true],
	[
		"the server's own kubeconfig is a location",
		[{}, { SVC_ORCH_KUBECONFIG: "/a" }],
		[{}, { SVC_ORCH_KUBECONFIG: "/b" }],
		false,
	],
	["variables come in any order", [{}, BOTH], [{}, { ...OUTSIDE, ...POD }], true],
	["another cluster's pod is elsewhere", [{}, POD], [{}, { ...POD, KUBERNETES_SERVICE_HOST: "10.0.0.1" }], false],
];

for (const [what, one, other, isSame] of PLACES) {
	test(`an orchestrator's target is where its process goes: ${what}`, async (t) => {
		const targetOf = async ([fields, outside]: Way) =>
			(await setUp(t, fields, outside).runtime.withRow(ORCHESTRATOR)).target;
		assert.equal((await targetOf(one)) === (await targetOf(other)), isSame);
	});
}

test("a process may read beside its kubeconfig, wherever that was named", async (t) => {
	const SVC_ORCH_KUBECONFIG = "/etc/orch/config";
	for (const [fields, outside, reads] of [
		[{ kubeconfig_path: SVC_ORCH_KUBECONFIG }, {}, ["/etc/orch"]],
		[{}, { SVC_ORCH_KUBECONFIG }, ["/etc/orch"]],
		[{ kubeconfig_path: "" }, { SVC_ORCH_KUBECONFIG }, []],
		[{}, {}, []],
	] as const) {
		const { runtime, asked } = setUp(t, fields, outside);
		await (await runtime.withRow(ORCHESTRATOR)).call("ping", {});
		assert.deepEqual(asked[0]?.reads, reads, JSON.stringify([fields, outside]));
	}
});

test("an engine finds its processes at its first call, and again after its configuration was retired", async (t) => {
	const { runtime, seen } = setUp(t, A);
	const engine = await runtime.withRow(ORCHESTRATOR);
	assert.equal(seen.pools, 0);
	for (let call = 0; call < 2; call++) await engine.call("ping", {});
	assert.equal(seen.pools, 1);
	runtime.retire(ORCHESTRATOR.id);
	await (await runtime.withRow(ORCHESTRATOR)).call("ping", {});
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
	const { runtime, seen } = setUp(t, A);
	await runtime.withRow(ORCHESTRATOR);
	await pass(9);
	await runtime.withRow(ORCHESTRATOR);
	await pass(9);
	assert.equal(seen.closed, 0);
	await pass(2);
	assert.equal(seen.closed, 1);
});
