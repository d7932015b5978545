import { type Engine, type Fields, optionalTexts } from "@svc/plugin-sdk";
import type { Config } from "./config.ts";
import { createCredential, deleteCredential, inStep } from "./credential.ts";
import { listAccounts } from "./list.ts";
import type { Orchestrator } from "./orchestrator.ts";
import { readAccountParams, readCredentialParams, readNamespace } from "./params.ts";
import descriptor from "./plugin.json" with { type: "json" };
import { lookAtRights } from "./privileges.ts";

/**
 * The container orchestrator engine: service accounts that are bound to a cluster role in one namespace, and their tokens.
 * @param defaults what a request gets that does not say
 * @param connection what a credential's user needs to reach the orchestrator, as `connectionOf` says it
 * Spec: ENGINES › containerorch operations
 */
export function createEngine(
	orchestrator: Orchestrator,
	defaults: Pick<Config, "namespace" | "token_ttl">,
	connection: Fields = {},
): Engine {
	return {
		descriptor,
		async ping() {
			await orchestrator.call({ method: "GET", path: "/api/v1/namespaces/default" }).catch((error: unknown) => {
				throw inStep("ping failed", error);
			});
		},
		async generate(params) {
			const credential = await createCredential(orchestrator, readCredentialParams(params, defaults));
			// Beyond the fields of the specification, and so only for the core that asks for it.
			return params._connection === true ? { ...credential, connection } : credential;
		},
		async validate(params) {
			const { namespace, name } = readAccountParams(params, defaults);
			await deleteCredential(orchestrator, namespace, name);
			// False: what was asked about is no longer a credential.
			return { valid: false, message: `service account ${name} and bindings deleted` };
		},
		async privileges(params) {
			const namespaces = optionalTexts(params, "places");
			return { privileges: await lookAtRights(orchestrator, namespaces, defaults) };
		},
		async list(params) {
			return { names: await listAccounts(orchestrator, readNamespace(params, defaults)) };
		},
	};
}
