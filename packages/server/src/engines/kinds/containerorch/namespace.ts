import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Fields } from "@svc/protocol";

/** Folder with a pod's namespace. SVC_ORCH_MOUNT replaces it in tests. */
const MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Default of config_schema. Spec: ENGINES › Container orchestrator engine configuration */
const USUAL = "default";

/**
 * Completes a containerorch configuration without a namespace: takes it from the server's own variable, else from the pod in which the
 * server runs, if the cluster is that of the pod.
 * @param environment variables for engines with which the server was started
 * Spec: ENGINES › Container orchestrator engine configuration
 */
export function withNamespace(fields: Fields, environment: Readonly<Record<string, string | undefined>>): Fields {
	if (fields.namespace !== undefined && fields.namespace !== USUAL) return fields;
	const namespace = environment.SVC_ORCH_NAMESPACE || ofPod(fields, environment) || USUAL;
	return { ...fields, namespace };
}

function ofPod(fields: Fields, environment: Readonly<Record<string, string | undefined>>): string | undefined {
	// An empty field counts as unset, and still hides the server's own variable.
	const api_server = fields.api_server ?? environment.SVC_ORCH_API_SERVER;
	const kubeconfig = fields.kubeconfig_path ?? environment.SVC_ORCH_KUBECONFIG;
	if (api_server || kubeconfig || environment.KUBERNETES_SERVICE_HOST === undefined) return undefined;
	try {
		return readFileSync(join(environment.SVC_ORCH_MOUNT ?? MOUNT, "namespace"), "utf8").trim();
	} catch {
		// The engine's process reports what is wrong with the mount.
		return undefined;
	}
}
