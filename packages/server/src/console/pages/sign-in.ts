import { type AccountNeeds, login, logout } from "../../accounts/accounts.ts";
import { Login } from "../../accounts/model.ts";
import type { Visitor } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import type { Actor } from "../../policy/model.ts";
import type { Cookies } from "../cookies.ts";
import { address, addressOf, html, targetOf } from "../html.ts";
import type { Fields, Moved, Page } from "../page.ts";

/** Dependencies of signing in. */
export type SignInNeeds = AccountNeeds & { cookies: Cookies };

/** Shows the form. @param target the page to go on to */
export function signInPage(target: string | undefined, refused?: AppError): Page {
	const problem = refused === undefined ? "" : html`<p class="error" role="alert" id="problem">${refused.message}</p>`;
	return {
		title: "Sign in",
		status: refused?.status ?? 401,
		body: html`${problem}<form method="post" action="/console/sign-in">
<input type="hidden" name="target" value="${targetOf(addressOf(target))}">
<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="username" required autofocus>
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>
<p><button>Sign in</button></p></form>
<p class="quiet">No account yet? <code>svc register</code> makes one, and <code>svc init</code> the first one of a new server.</p>`,
		commands: ["svc login"],
	};
}

/** Signs in with a password. The form has no token, as there is no session to bind it to: its origin is checked. */
export async function signIn(
	needs: SignInNeeds,
	visitor: Visitor,
	{ email, password, target }: Fields,
): Promise<Page | Moved> {
	try {
		const { token } = await login(needs, visitor, check(Login, { email, password }));
		return { to: addressOf(target), cookies: [needs.cookies.begin(token)] };
	} catch (error) {
		if (!(error instanceof AppError) || error.status >= 500) throw error;
		return signInPage(target, error);
	}
}

/** Ends the session, and its cookie. */
export async function signOut(needs: SignInNeeds, actor: Actor): Promise<Moved> {
	await logout(needs, actor);
	return { to: address`/console`, cookies: [needs.cookies.end()] };
}
