import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fields } from "@svc/protocol";
import descriptor from "../../../../../../plugins/containerorch/plugin.json" with { type: "json" };
import { aConfig } from "../../../testing/rows.ts";
import { runtimeOver } from "../../testing.ts";
import { containerorch } from "./kind.ts";

const ENGINE = { descriptor, kind: containerorch };
const CONFIG = aConfig({ engine: "containerorch" });

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
			(await runtimeOver(t, ENGINE, fields, outside).runtime.withRow(CONFIG)).target;
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
		const { runtime, asked } = runtimeOver(t, ENGINE, fields, outside);
		await (await runtime.withRow(CONFIG)).call("ping", {});
		assert.deepEqual(asked[0]?.reads, reads, JSON.stringify([fields, outside]));
	}
});
