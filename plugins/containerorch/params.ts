import {
	EngineError,
	type Fields,
	findRole,
	isObject,
	managedName,
	optionalText,
	ParamsError,
	parseTtl,
} from "@svc/plugin-sdk";
import type { Config } from "./config.ts";
import { isManagedName, isNamespace, NAMESPACE_RULE, PREFIX } from "./names.ts";
import descriptor from "./plugin.json" with { type: "json" };

/** The request for a credential. */
export interface CredentialParams {
	namespace: string;
	/** Of the service account. */
	name: string;
	role: string;
	cluster_role: string;
	/** Whole seconds. */
	ttl_s: number;
	/** Of the service account and the role binding. */
	labels: Record<string, string>;
}

type Defaults = Pick<Config, "namespace" | "token_ttl">;

/** An API server refuses a shorter token, and would do so after account and binding exist. */
export const MIN_TTL_MS = 10 * 60_000;

/** The prefix marks the key as svc's own; a prefix has the syntax of a domain, here with one label. */
const LEASE_LABEL = "svc/lease-id";
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/**
 * Reads the params of generate.
 * @throws EngineError `unknown role …`, `invalid ttl: …` or `ttl … is below the orchestrator minimum of 10m`
 * @throws ParamsError
 * Spec: ENGINES › Endpoints, Errors. Design: §9
 */
export function readCredentialParams(params: Fields, defaults: Defaults): CredentialParams {
	const role = findRole(descriptor.default_roles, optionalText(params, "role") ?? "");
	const namespace = readNamespace(params, defaults);
	const ttl = optionalText(params, "ttl") ?? defaults.token_ttl;
	const ttl_ms = parseTtl(ttl);
	if (ttl_ms < MIN_TTL_MS) throw new EngineError(`ttl ${ttl} is below the orchestrator minimum of 10m`);
	return {
		namespace,
		...readLease(params._lease),
		role: role.name,
		cluster_role: role.config.cluster_role,
		ttl_s: Math.floor(ttl_ms / 1000),
	};
}

/**
 * Reads the params of validate: the account to delete.
 * @throws EngineError `service_account is required` or `refusing to delete a non-managed service account: …`
 * @throws ParamsError
 * Spec: ENGINES › Endpoints, Authentication
 */
export function readAccountParams(params: Fields, defaults: Defaults): { namespace: string; name: string } {
	const name = optionalText(params, "service_account") ?? "";
	if (name === "") throw new EngineError("service_account is required");
	if (!isManagedName(name)) {
		throw new EngineError(
			"refusing to delete a non-managed service account: managed names are svc- and 8 lowercase hex characters",
		);
	}
	return { namespace: readNamespace(params, defaults), name };
}

/** Reads the namespace of a request, or takes the default. @throws ParamsError when it cannot be one */
export function readNamespace(params: Fields, defaults: Defaults): string {
	const namespace = optionalText(params, "namespace") ?? defaults.namespace;
	if (!isNamespace(namespace)) throw new ParamsError(`namespace ${NAMESPACE_RULE}`);
	return namespace;
}

/** Reads the core's lease. The core chooses the name to know what to look for if no answer arrives. Without the core it is random. */
function readLease(lease: unknown): Pick<CredentialParams, "name" | "labels"> {
	const managed = { "app.kubernetes.io/managed-by": "svc" };
	if (lease === undefined || lease === null) return { name: managedName(PREFIX), labels: managed };
	const { id, name } = isObject(lease) ? lease : {};
	if (typeof name !== "string" || !isManagedName(name)) {
		throw new ParamsError("_lease.name must be svc- and 8 lowercase hex characters");
	}
	if (typeof id !== "string" || !LABEL_VALUE.test(id)) {
		throw new ParamsError("_lease.id must have the syntax of a label's value");
	}
	return { name, labels: { ...managed, [LEASE_LABEL]: id } };
}
