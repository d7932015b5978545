import { type Engine, type Fields, optionalTexts } from "@svc/plugin-sdk";
import type { Config } from "./config.ts";
import { createCredential, deleteCredential, inStep } from "./credential.ts";
import { listAccounts } from "./list.ts";
import type { Orchestrator } from "./orchestrator.ts";
import { readAccountParams, readCredentialParams, readNamespace } from "./params.ts";
import descriptor from "./plugin.json" with { type: "json" };
import { checkRights } from "./privileges.ts";

/**
 * Makes the container orchestrator engine: service accounts bound to a cluster role in one namespace, and their tokens.
 * @param defaults values that a request omits
 * @param connection the means for a credential's user to reach the orchestrator, from `connectionOf`
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
			// Not a field of the specification, so only for a core that asks for it.
			return params._connection === true ? { ...credential, connection } : credential;
		},
		async validate(params) {
			const { namespace, name } = readAccountParams(params, defaults);
			await deleteCredential(orchestrator, namespace, name);
			// False: the credential no longer exists.
			return { valid: false, message: `service account ${name} and bindings deleted` };
		},
		async privileges(params) {
			const namespaces = optionalTexts(params, "places");
			return { privileges: await checkRights(orchestrator, namespaces, defaults) };
		},
		async list(params) {
			return { names: await listAccounts(orchestrator, readNamespace(params, defaults)) };
		},
	};
}
