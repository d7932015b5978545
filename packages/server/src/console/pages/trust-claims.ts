import type { TrustType } from "../../trusts/model.ts";
import type { Fields } from "../page.ts";
import { Misfilled } from "../refused-form.ts";

type Claims = Record<string, string>;

/**
 * Makes the claims of a trust from its platform's form: those that name one workload, and that nobody else gets later.
 * @throws AppError validation_failed
 */
export function claimsIn(type: TrustType, form: Fields): Claims {
	switch (type) {
		case "github":
			return given({
				repository: nameIn(form, "repository"),
				repository_id: numberIn(form, "repository_id"),
				repository_owner_id: numberIn(form, "repository_owner_id"),
				ref: refIn(form),
				// A run that a stranger's pull request starts can have the ref of the main branch.
				event_name: form.environment ? undefined : "push",
				environment: form.environment,
			});
		case "gitlab":
			return given({
				project_path: nameIn(form, "project"),
				project_id: numberIn(form, "project_id"),
				ref_path: refIn(form),
				ref_protected: "true",
				environment: form.environment,
				environment_protected: form.environment ? "true" : undefined,
			});
		case "kubernetes":
			return given({
				"/kubernetes.io/serviceaccount/uid": form.uid,
				"/kubernetes.io/serviceaccount/name": form.serviceaccount,
				"/kubernetes.io/namespace": form.namespace,
			});
		case "oidc":
			return namedIn(form.claims ?? "");
	}
}

/** Leaves out what stayed empty. */
function given(claims: Record<string, string | undefined>): Claims {
	const named = Object.entries(claims).filter(([, value]) => value !== undefined && value !== "");
	return Object.fromEntries(named) as Claims;
}

function numberIn(form: Fields, name: string): string {
	const text = form[name] ?? "";
	if (/^\d{1,20}$/.test(text)) return text;
	throw new Misfilled(name, "this must be a number, in digits: the text above says where it is found");
}

/** Reads the path of a repository or project: a whole address is none. */
function nameIn(form: Fields, name: string): string {
	const text = (form[name] ?? "").trim();
	if (text === "" || /^[\w.-]+(?:\/[\w.-]+)+$/.test(text)) return text;
	throw new Misfilled(name, "this must be a name such as acme/web, not an address");
}

function refIn({ ref = "", ref_kind = "" }: Fields): string {
	if (!["heads", "tags"].includes(ref_kind)) throw new Misfilled("ref_kind", "choose branch or tag");
	if (ref === "" || ref.startsWith("refs/"))
		throw new Misfilled("ref", "the branch or tag must be a name such as main, without refs/");
	return `refs/${ref_kind}/${ref}`;
}

/** Characters of twenty claims. */
const MAX_CLAIMS_CHARACTERS = 16_384;

function namedIn(text: string): Claims {
	if (text.length > MAX_CLAIMS_CHARACTERS) throw new Misfilled("claims", "the claims are too long: 20 lines at most");
	const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
	return Object.fromEntries(
		lines.map((line) => {
			const at = line.indexOf("=");
			if (at < 1) throw new Misfilled("claims", "each line of claims must be name=value, such as sub=deploy");
			return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
		}),
	);
}
