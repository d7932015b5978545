import { loginWithPasskey } from "../../accounts/passkeys.ts";
import type { Visitor } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import { passkeyHost } from "../../factors/responses.ts";
import type { PageRequest } from "../../http/pages.ts";
import { html, targetOf } from "../html.ts";
import type { Fields, Moved, Page } from "../page.ts";
import { passkeyButton, requestOptions, signedIn, WITHOUT_SCRIPT } from "../passkey.ts";
import { goOnTo, type SignInNeeds } from "./sign-in.ts";

/** Path of the page on which a passkey signs in. */
export const WITH_PASSKEY = "/console/sign-in/passkey";

const BROWSER_BYTES = 16;
const BROWSER = /^[\w-]{22}$/;

/** Signs in with a passkey. The challenge is for the browser that has the page: its cookie holds nothing but a name for it. */
export async function answerPasskey(
	needs: SignInNeeds,
	{ method, headers, request_id, ip }: PageRequest,
	fields: Fields,
): Promise<Page | Moved> {
	const given = needs.cookies.readPasskey(headers.cookie);
	// Nothing but a name that this page gave: a session is a holder of challenges, too.
	const browser = given !== undefined && BROWSER.test(given) ? given : undefined;
	if (method !== "POST") return passkeyPage(needs, browser, fields.target);
	try {
		return await signIn(needs, { request_id, ip }, browser ?? "", fields);
	} catch (error) {
		if (!(error instanceof AppError) || error.status >= 500) throw error;
		return passkeyPage(needs, browser, fields.target, error);
	}
}

async function signIn(needs: SignInNeeds, visitor: Visitor, browser: string, form: Fields): Promise<Moved> {
	const passkey = signedIn(needs, form, browser);
	if (passkey === undefined) throw new AppError("missing_field", "no passkey was used: press the button");
	const { token } = await loginWithPasskey(needs, visitor, passkey);
	return { to: goOnTo(form.target), cookies: [needs.cookies.begin(token), needs.cookies.endPasskey()] };
}

function passkeyPage(
	needs: SignInNeeds,
	known: string | undefined,
	target: string | undefined,
	refused?: AppError,
): Page {
	const problem = refused === undefined ? "" : html`<p class="error" role="alert">${refused.message}</p>`;
	const another = html`<p><a href="/console/sign-in?target=${targetOf(goOnTo(target))}">Sign in another way</a></p>`;
	const title = "Sign in with a passkey";
	if (passkeyHost(needs.address()) === undefined)
		return { title, status: 400, body: html`<p>${NO_HOST}</p>${another}` };
	const browser = known ?? needs.system.randomBytes(BROWSER_BYTES).toString("base64url");
	const button = passkeyButton("get", requestOptions(needs, browser), "Use a passkey");
	return {
		title,
		status: refused?.status ?? 200,
		body: html`${problem}${WITHOUT_SCRIPT}<form method="post" action="/console/sign-in/passkey"><input type="hidden" name="target" value="${targetOf(goOnTo(target))}">${button}</form>${another}
<p class="quiet">You make a passkey on the page of your account, under Second factor.</p>`,
		cookies: [needs.cookies.beginPasskey(browser)],
	};
}

/** Tells where passkeys cannot work, before anybody tries. */
export const NO_HOST =
	"This server is reached at an IP address, where browsers allow no passkeys. They need a host name in base_url, and a certificate that browsers trust; https://localhost works without one.";
