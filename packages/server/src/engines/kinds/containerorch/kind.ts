import { dirname } from "node:path";
import type { Fields } from "@svc/protocol";
import { allowedNames, refuseOtherNames, requestedName } from "../allowed-names.ts";
import type { Connector } from "../connector.ts";
import { createEngineConnector } from "../engine-connector.ts";
import type { ConnectNeeds, Environment, Kind } from "../kind.ts";
import { VARIABLES } from "../variables.ts";
import { isFirstStepRefused, isUnanswered } from "./errors.ts";
import { withNamespace } from "./namespace.ts";

/** The container orchestrator. The engine makes service accounts with names that the core chooses. Spec: ENGINES › containerorch operations */
export const containerorch: Kind = {
	connect: async (needs) => connect(needs),
	confine: confineToNamespaces,
	address: addressOf,
	destination: ["api_server", "kubeconfig_path", "ca_cert"],
	complete: withNamespace,
	// For other engines an empty one means the system's roots.
	warning: ({ ca_cert }) => (ca_cert === "" ? "TLS verification is off" : ""),
	variables: VARIABLES.containerorch,
	// The files that it names are next to it.
	reads: ({ SVC_ORCH_KUBECONFIG: kubeconfig }) => (kubeconfig ? [dirname(kubeconfig)] : []),
	requiresRole: true,
};

/** Finds the cluster as the engine does: an empty variable counts as unset. */
function addressOf(_: Fields, environment: Environment): string {
	const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
	return environment.SVC_ORCH_API_SERVER || environment.SVC_ORCH_KUBECONFIG || JSON.stringify([host, port]);
}

function confineToNamespaces(fields: Fields, params: Fields): { params: Fields; scope: string } {
	const own = String(fields.namespace);
	const namespace = requestedName(params, "namespace", "invalid params") ?? own;
	refuseOtherNames("namespace", namespace, own, allowedNames(fields, "allowed_namespaces"));
	return { params: { ...params, namespace }, scope: namespace };
}

const SERVICE_ACCOUNT = /^svc-[0-9a-f]{8}$/;

function connect(needs: ConnectNeeds): Connector {
	const { fields, ask } = needs;
	const scopes = new Set([String(fields.namespace), ...allowedNames(fields, "allowed_namespaces")]);
	return {
		...createEngineConnector(needs, {
			scopes: [...scopes],
			revokeParams: ({ name, scope }) => ({ service_account: name, namespace: scope }),
			nameIn: ({ service_account }) => service_account,
			madeNothing: isFirstStepRefused,
			isUnanswered,
		}),
		// The engine acts immediately, so the ledger is asked first. The engine itself refuses names that are not managed.
		async readRevoke({ params, scope, ...member }) {
			const { service_account: name } = params;
			if (typeof name !== "string" || !SERVICE_ACCOUNT.test(name))
				return { answer: await ask("validate", params, member) };
			return { name, scope, answer: { valid: false, message: `service account ${name} and bindings deleted` } };
		},
	};
}
