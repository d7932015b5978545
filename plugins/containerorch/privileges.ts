import { type Fields, isObject, parseTtl } from "@svc/plugin-sdk";
import type { Config } from "./config.ts";
import { inStep } from "./credential.ts";
import { isNamespace } from "./names.ts";
import type { Orchestrator } from "./orchestrator.ts";
import { MIN_TTL_MS } from "./params.ts";
import descriptor from "./plugin.json" with { type: "json" };

/** A right that the engine needs, or a setting that is wrong. */
type Privilege = { name: string; status: "granted" | "missing" | "doubtful"; message: string; hint: string };

/** A question to the API server, in the terms of a role's rules. */
interface Right {
	readonly verb: string;
	readonly group: string;
	readonly resource: string;
	/** The one object that it concerns. */
	readonly name?: string;
	readonly status: "missing" | "doubtful";
	readonly without: string;
}

const RBAC = "rbac.authorization.k8s.io";
const MANIFEST = "apply the rules of plugins/containerorch/manifest.yaml";

/** The most namespaces to ask about: each takes a dozen calls, and the server waits 35 s. */
const MAX_NAMESPACES = 20;

const right = (verb: string, group: string, resource: string, without: string, status: Right["status"] = "missing") => {
	return { verb, group, resource, status, without };
};

const MAKE = "no credential can be made";
const REVOKE = "no credential can be revoked";
const LOOK = "the server cannot verify that a credential is gone";

const RIGHTS: readonly Right[] = [
	right("create", "", "serviceaccounts", MAKE),
	right("delete", "", "serviceaccounts", REVOKE),
	right("get", "", "serviceaccounts", LOOK, "doubtful"),
	right("list", "", "serviceaccounts", LOOK, "doubtful"),
	right("create", "", "serviceaccounts/token", MAKE),
	right("create", RBAC, "rolebindings", MAKE),
	right("delete", RBAC, "rolebindings", "bindings stay until the orchestrator itself removes them", "doubtful"),
	...descriptor.default_roles.map(({ name, config }) => ({
		...right("bind", RBAC, "clusterroles", `no credential of the role ${name} can be made`),
		name: config.cluster_role,
	})),
];

/** The ping's right, whatever the namespaces of the credentials. */
const PING = { ...right("get", "", "namespaces", "the ping fails"), name: "default" };

/**
 * Asks the API server for every right that the engine needs, in its own namespace and in others; changes nothing there.
 * @throws EngineError `asking for rights: …`
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
 */
export async function checkRights(
	orchestrator: Orchestrator,
	places: readonly string[],
	{ namespace, token_ttl }: Pick<Config, "namespace" | "token_ttl">,
): Promise<Privilege[]> {
	const namespaces = [...new Set([namespace, ...places.filter(isNamespace)])].slice(0, MAX_NAMESPACES);
	const found: Privilege[] = [await review(orchestrator, PING, "default")];
	for (const one of namespaces) {
		found.push(...(await Promise.all(RIGHTS.map((wanted) => review(orchestrator, wanted, one)))));
	}
	return [...found, ...tooShort(token_ttl)];
}

async function review(orchestrator: Orchestrator, wanted: Right, namespace: string): Promise<Privilege> {
	const { verb, group, name: object, status, without } = wanted;
	const [resource = "", subresource] = wanted.resource.split("/");
	const resourceAttributes: Fields = {
		...{ namespace, verb, group, resource },
		...(subresource === undefined ? {} : { subresource }),
		...(object === undefined ? {} : { name: object }),
	};
	const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
	const answer = await orchestrator.call({ method: "POST", path, body }).catch((error: unknown) => {
		throw inStep("asking for rights", error);
	});
	const name = `${verb} ${wanted.resource}${object === undefined ? "" : ` ${object}`} in ${namespace}`;
	if (isObject(answer.status) && answer.status.allowed === true)
		return { name, status: "granted", message: "", hint: "" };
	return { name, status, message: `the account lacks this permission: ${without}`, hint: MANIFEST };
}

/** Checks the default ttl: the API server refuses shorter tokens, and so every request without its own ttl. */
function tooShort(token_ttl: string): Privilege[] {
	if (parseTtl(token_ttl) >= MIN_TTL_MS) return [];
	const message = "it is below the orchestrator's minimum of 10m: credentials without a ttl of their own are refused";
	return [{ name: "token_ttl", status: "missing", message, hint: "svc engine set containerorch with token_ttl=1h" }];
}
