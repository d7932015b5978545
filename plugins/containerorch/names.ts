/** RFC 1123 label: what a namespace is called. */
const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Spec: ENGINES › containerorch operations */
const MANAGED_NAME = /^svc-[0-9a-f]{8}$/;

/** What the names of service accounts that the engine makes begin with. */
export const PREFIX = "svc-";

/** What a namespace must be, as the end of a sentence. */
export const NAMESPACE_RULE = "must be a DNS label: up to 63 lowercase letters, digits and inner hyphens";

/** Whether a text can be a namespace, and so stand in a path. */
export function isNamespace(text: string): boolean {
	return DNS_LABEL.test(text);
}

/** Whether a service account has a name as the engine makes them. */
export function isManagedName(text: string): boolean {
	return MANAGED_NAME.test(text);
}
