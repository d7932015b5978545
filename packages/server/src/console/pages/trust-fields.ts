import type { TrustType } from "../../trusts/model.ts";
import { type Html, html } from "../html.ts";

/** A text field of the form of a trust. */
interface TextField {
	name: string;
	label: string;
	value?: string;
	/** False for a field that may stay empty. */
	isRequired?: boolean;
	/** Says where to find it. */
	help?: Html;
}

/** Makes a text field, with the help below it. */
export function textField({ name, label, value = "", isRequired = true, help }: TextField): Html {
	const about = help === undefined ? "" : html`<p class="quiet about" id="about.${name}">${help}</p>`;
	const described = help === undefined ? "" : `about.${name}`;
	const input = isRequired
		? html`<input id="${name}" name="${name}" type="text" value="${value}" required autocomplete="off" spellcheck="false" aria-describedby="${described}">`
		: html`<input id="${name}" name="${name}" type="text" value="${value}" autocomplete="off" spellcheck="false" aria-describedby="${described}">`;
	const words = isRequired ? label : `${label} (optional)`;
	return html`<label for="${name}">${words}</label>${input}${about}`;
}

const REF = html`<label for="ref_kind">Only runs on the</label><select id="ref_kind" name="ref_kind"><option value="heads">branch</option><option value="tags">tag</option></select>${textField({ name: "ref", label: "Name of the branch or tag", help: html`Such as main, without refs/heads/.` })}`;

const GITHUB = html`${textField({
	name: "repository",
	label: "Repository",
	isRequired: false,
	help: html`Such as acme/web, as in its address at GitHub. After a rename, trust it again under its new name.`,
})}
<p>A name can pass to somebody else, so two numbers that never change decide. For acme/web, open <code>https://api.github.com/repos/acme/web</code> in your browser: <code>id</code> near the top is the repository's number, <code>id</code> below <code>owner</code> is its owner's. For a private repository run <code>gh api repos/acme/web --jq '.id, .owner.id'</code>, which shows both in this order.</p>
${textField({ name: "repository_id", label: "Number of the repository", help: html`Digits only, such as 1296269.` })}
${textField({ name: "repository_owner_id", label: "Number of its owner", help: html`Digits only, such as 583231.` })}
${REF}${textField({
	name: "environment",
	label: "Only jobs in this environment of GitHub",
	isRequired: false,
	help: html`Left empty, only runs that a push started are admitted.`,
})}`;

const GITLAB = html`${textField({
	name: "project",
	label: "Project",
	isRequired: false,
	help: html`Such as acme/web, as in its address at GitLab. After a move or a rename, trust it again under its new name.`,
})}
${textField({
	name: "project_id",
	label: "Number of the project",
	help: html`A name can pass to somebody else; this number cannot. On the project's page at GitLab, the menu with three dots has “Copy project ID”.`,
})}
${REF}<p class="quiet">Only jobs on a protected branch or tag are admitted.</p>${textField({
	name: "environment",
	label: "Only jobs in this protected environment of GitLab",
	isRequired: false,
})}`;

const KUBERNETES = html`${textField({ name: "namespace", label: "Namespace", isRequired: false, help: html`Such as shop.` })}
${textField({ name: "serviceaccount", label: "Service account", isRequired: false, help: html`Its name, as in the pod's <code>serviceAccountName</code>.` })}
${textField({
	name: "uid",
	label: "uid of the service account",
	help: html`A name can pass to another account; the uid cannot. <code>kubectl get serviceaccount NAME --namespace NAMESPACE -o jsonpath={.metadata.uid}</code> shows it.`,
})}`;

const OIDC = html`<label for="claims">Claims, one a line, such as sub=deploy</label><textarea id="claims" name="claims" rows="3" data-again="" required autocomplete="off" spellcheck="false"></textarea><p class="quiet">Name one that never passes to somebody else, such as sub or an id.</p>`;

/** Fields of each platform's claims. */
export const CLAIM_FIELDS: Readonly<Record<TrustType, Html>> = {
	github: GITHUB,
	gitlab: GITLAB,
	kubernetes: KUBERNETES,
	oidc: OIDC,
};

/** Where the issuer of a platform's JWTs is found; empty where the form knows it. */
export const ISSUER_HELP: Readonly<Record<TrustType, Html>> = {
	github: html`Leave it, unless your company has a GitHub of its own.`,
	gitlab: html`Leave it, unless your company has a GitLab of its own: then its address.`,
	kubernetes: html`<code>kubectl get --raw /.well-known/openid-configuration</code> shows it, as issuer.`,
	oidc: html`The address in the claim iss of its JWTs, letter by letter.`,
};
