import type { Fields } from "@svc/plugin-sdk";
import type { CredentialParams } from "./params.ts";

/** The collection of a namespace's service accounts. */
export function accountsPath(namespace: string): string {
	return `/api/v1/namespaces/${namespace}/serviceaccounts`;
}

/** The collection of a namespace's role bindings. */
export function bindingsPath(namespace: string): string {
	return `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
}

/** Names the binding of an account to a role. */
export function bindingName({ name, role }: Pick<CredentialParams, "name" | "role">): string {
	return `${name}-${role}`;
}

/** A service account. */
export function accountObject({ namespace, name, labels }: CredentialParams): Fields {
	return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } };
}

/**
 * The binding of the account to the cluster role, within the namespace. With its owner's uid the orchestrator deletes it after the account,
 * even if somebody else deletes that.
 */
export function bindingObject(wanted: CredentialParams, accountUid: string | undefined): Fields {
	const { namespace, name, labels, cluster_role } = wanted;
	const owner = { apiVersion: "v1", kind: "ServiceAccount", name, uid: accountUid };
	return {
		apiVersion: "rbac.authorization.k8s.io/v1",
		kind: "RoleBinding",
		metadata: {
			name: bindingName(wanted),
			namespace,
			labels,
			...(accountUid === undefined ? {} : { ownerReferences: [owner] }),
		},
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: cluster_role },
		subjects: [{ kind: "ServiceAccount", name, namespace }],
	};
}

/** The request for a token that the API server itself accepts. */
export function tokenRequest({ ttl_s }: CredentialParams): Fields {
	return {
		apiVersion: "authentication.k8s.io/v1",
		kind: "TokenRequest",
		spec: { expirationSeconds: ttl_s },
	};
}
