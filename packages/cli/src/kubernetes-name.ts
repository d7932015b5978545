import { Failure } from "./failure.ts";

// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** The text of --name, when an object of Kubernetes can have it. @throws Failure usage when it cannot */
export function checkName(text: string): string {
	if (SUBDOMAIN.test(text)) return text;
	throw new Failure("usage", "--name takes lowercase letters, digits, - and .");
}

/** The text of --namespace, when a namespace of Kubernetes can have it. @throws Failure usage when it cannot */
export function checkNamespace(text: string): string {
	if (LABEL.test(text)) return text;
	throw new Failure("usage", "--namespace takes lowercase letters, digits and -");
}
