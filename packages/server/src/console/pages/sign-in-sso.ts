import { hash } from "node:crypto";
import { Invited } from "../../accounts/model.ts";
import type { Visitor } from "../../audit/model.ts";
import type { AppError } from "../../errors.ts";
import { check, parseQuery } from "../../http/input.ts";
import type { PageRequest } from "../../http/pages.ts";
import { beginLogin, isUninvited, redeemCode } from "../../sso/login.ts";
import { command } from "../command.ts";
import { address, addressOf, html, targetOf } from "../html.ts";
import type { Fields, Moved, Page } from "../page.ts";
import { isCrossSite } from "../request-guard.ts";
import { bounce } from "./bounce.ts";
import { refusedPage, type SignInNeeds, signIn, signInPage } from "./sign-in.ts";
import { answerPasskey, WITH_PASSKEY } from "./sign-in-passkey.ts";

/** The way to another site, with the cookies that the browser comes back with. */
export interface Away {
	location: string;
	cookies: readonly string[];
}

const BEGIN = /^\/console\/sign-in\/(oidc|saml)\/([\w-]{1,50})$/;
/** Path to which a provider's answer leads in the end. */
const RETURN = "/console/sign-in/sso";
const VERIFIER_BYTES = 32;

/** Answers what needs no session, because it makes one; undefined for anything else. @param form empty for a GET */
export async function answerSignIn(
	needs: SignInNeeds,
	request: PageRequest,
	pathname: string,
	form: Fields,
): Promise<Page | Moved | Away | undefined> {
	const { request_id, ip, method, target } = request;
	const visitor = { request_id, ip };
	if (pathname === WITH_PASSKEY) return answerPasskey(needs, request, method === "POST" ? form : parseQuery(target));
	if (method === "POST") {
		if (pathname === RETURN) return end(needs, visitor, request, form);
		return pathname === "/console/sign-in" ? signIn(needs, visitor, form) : undefined;
	}
	const query: Fields = parseQuery(target);
	if (pathname === "/console/sign-in") return signInPage(needs, query.target);
	if (pathname === RETURN) return isCrossSite(request) ? bounce(target) : end(needs, visitor, request, query);
	const [, type, name] = BEGIN.exec(pathname) ?? [];
	if (type === undefined || name === undefined) return undefined;
	// A link of another site would sign in the person whose session the browser has at the provider, perhaps the link's maker.
	if (!["same-origin", "none"].includes(String(request.headers["sec-fetch-site"])))
		return signInPage(needs, query.target);
	return begin(needs, visitor, type as "oidc" | "saml", name, query.target).catch((refused: unknown) =>
		refusedPage(needs, query.target, refused),
	);
}

/** Sends the browser to the provider, with a verifier in a cookie: the code that it brings back is worth nothing to another browser. */
async function begin(
	needs: SignInNeeds,
	visitor: Visitor,
	type: "oidc" | "saml",
	name: string,
	target: string | undefined,
): Promise<Away> {
	const verifier = needs.system.randomBytes(VERIFIER_BYTES).toString("base64url");
	const waiting = { address: RETURN, challenge: hash("sha256", verifier, "base64url") };
	const { location, cookie } = await beginLogin(needs, visitor, type, name, waiting);
	const to = Buffer.from(targetOf(addressOf(target))).toString("base64url");
	return { location, cookies: [cookie, needs.cookies.beginLogin(`${verifier}.${to}`)] };
}

/** Texts for the codes of an address: any page can send a browser here, so an address says no more than its code. */
const REFUSALS: Partial<Record<string, { status: 429 | 503; message: string }>> = {
	provider_unavailable: { status: 503, message: "the identity provider is unavailable: try again later" },
	rate_limited: { status: 429, message: "too many logins from here were refused: try again in a minute" },
};
const REFUSED = { status: 401, message: "the login was refused: try again; the audit log has the reason" } as const;
const NOT_BEGUN = {
	status: 401,
	message: "this browser did not begin this login, or began another one since: sign in again",
} as const;

async function end(
	needs: SignInNeeds,
	visitor: Visitor,
	{ headers }: PageRequest,
	{ code, error = "", invitation }: Fields,
): Promise<Page | Moved> {
	const begun = needs.cookies.readLogin(headers.cookie);
	if (begun === undefined) return signInPage(needs, undefined, NOT_BEGUN);
	const [verifier = "", to = ""] = begun.split(".");
	const target = Buffer.from(to, "base64url").toString();
	if (code === undefined) return signInPage(needs, target, REFUSALS[error] ?? REFUSED);
	try {
		const given = check(Invited, { invitation: invitation?.trim() });
		const proof = { code, verifier, invitation: given.invitation };
		const { token } = await redeemCode(needs, visitor, proof);
		return { to: addressOf(target), cookies: [needs.cookies.begin(token), needs.cookies.endLogin()] };
	} catch (refused) {
		if (isUninvited(refused)) return invitationPage(code, refused, invitation !== undefined);
		return refusedPage(needs, target, refused);
	}
}

/** Asks somebody whom the provider knows, and the server does not, for the code of an invitation. Design: §15 */
function invitationPage(code: string, { status, message }: AppError, isGiven: boolean): Page {
	const problem = isGiven ? html`<p class="error" role="alert">${message}</p>` : "";
	return {
		title: "Your invitation",
		status,
		body: html`${problem}<p>You have no account here yet, and signing in through this provider does not create one. If somebody invited you, type the code within 5 minutes.</p>
<form method="post" action="${address`/console/sign-in/sso`}"><input type="hidden" name="code" value="${code}">
<label for="invitation">Code of the invitation</label><input id="invitation" name="invitation" type="text" autocomplete="off" spellcheck="false" required autofocus>
<p><button>Make the account</button></p></form>
<p class="quiet"><a href="/console/sign-in">Sign in another way</a></p>`,
		commands: [command`svc login --sso … --invite -`],
	};
}
