import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "../../../testing/store.ts";
import { withNamespace } from "./namespace.ts";

test("a namespace that the configuration leaves open is the variable's, then the pod's, then default", async (t) => {
	const folder = await makeFolder(t);
	await writeFile(join(folder, "namespace"), "team\n");
	const pod = { KUBERNETES_SERVICE_HOST: "10.96.0.1", SVC_ORCH_MOUNT: folder };
	const table: [fields: object, environment: Record<string, string>, namespace: string][] = [
		[{}, {}, "default"],
		[{ namespace: "default" }, { SVC_ORCH_NAMESPACE: "apps" }, "apps"],
		[{ namespace: "own" }, { SVC_ORCH_NAMESPACE: "apps", ...pod }, "own"],
		[{ namespace: "default" }, { SVC_ORCH_NAMESPACE: "" }, "default"],
		[{}, pod, "team"],
		[{ api_server: "https://elsewhere" }, pod, "default"],
		[{ kubeconfig_path: "/etc/kubeconfig" }, pod, "default"],
		[{ api_server: "", kubeconfig_path: "/etc/kubeconfig" }, pod, "default"],
		[{ api_server: "", kubeconfig_path: "" }, pod, "team"],
		[{}, { ...pod, SVC_ORCH_API_SERVER: "https://elsewhere" }, "default"],
		[{}, { ...pod, SVC_ORCH_KUBECONFIG: "/etc/kubeconfig" }, "default"],
		[{ api_server: "" }, { ...pod, SVC_ORCH_API_SERVER: "https://elsewhere" }, "team"],
		[{}, { ...pod, SVC_ORCH_MOUNT: join(folder, "absent") }, "default"],
	];
	for (const [fields, environment, namespace] of table) {
		assert.deepEqual(
			withNamespace({ ...fields }, environment),
			{ ...fields, namespace },
			JSON.stringify([fields, environment]),
		);
	}
});
