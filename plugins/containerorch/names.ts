/** RFC 1123 label: the form of a namespace's name. */
const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Spec: ENGINES › containerorch operations */
const MANAGED_NAME = /^svc-[0-9a-f]{8}$/;

/** Prefix of the service accounts that the engine makes. */
export const PREFIX = "svc-";

/** The rule for a namespace, as the end of a sentence. */
export const NAMESPACE_RULE = "must be a DNS label: up to 63 lowercase letters, digits and inner hyphens";

/** Tells whether a text can be a namespace, and so appear in a path. */
export function isNamespace(text: string): boolean {
	return DNS_LABEL.test(text);
}

/** Tells whether a service account has a name in the engine's form. */
export function isManagedName(text: string): boolean {
	return MANAGED_NAME.test(text);
}
