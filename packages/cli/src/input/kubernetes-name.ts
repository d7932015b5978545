import { Failure } from "../failure.ts";

// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/** Accepts the text of --name as the name of a Kubernetes object. @throws Failure usage when it is not valid */
export function checkName(text: string): string {
	if (SUBDOMAIN.test(text)) return text;
	throw new Failure("usage", "--name takes lowercase letters, digits, - and .");
}

/** Accepts the text of --namespace as that of Kubernetes. @throws Failure usage when it is not valid */
export function checkNamespace(text: string): string {
	if (LABEL.test(text)) return text;
	throw new Failure("usage", "--namespace takes lowercase letters, digits and -");
}
