import { ENGINE_RECOVERY } from "./points.ts";
import type { Target } from "./target.ts";

/** Path of the service accounts. */
export const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";
/** Path of the role bindings. */
export const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

const MANAGED = /\/(svc-[0-9a-f]{8})(?:-[a-z]+)?$/;

/** Properties that every orchestrator shares, real or not. */
export function orchestratorAt(
	configuration: object,
): Pick<Target, "type" | "configuration" | "params" | "isFenced" | "isLimited" | "recovery" | "revoking"> {
	return {
		type: "containerorch",
		configuration,
		params: { role: "viewer", ttl: "24h" },
		isFenced: false,
		isLimited: false,
		recovery: ENGINE_RECOVERY,
		revoking: (service_account) => ({ service_account }),
	};
}

/** Returns the managed name in the path of an account or of a binding; none for any other path. */
export function nameIn(path: string): string[] {
	return MANAGED.exec(path)?.slice(1) ?? [];
}

/** A service account as a backup has kept it. */
export function accountOf(name: string): { metadata: object } {
	return { metadata: { name, namespace: "default", labels: { "app.kubernetes.io/managed-by": "svc" } } };
}
