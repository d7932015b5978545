import { type AccountNeeds, logout } from "../../accounts/accounts.ts";
import { login, type PasswordLoginNeeds } from "../../accounts/login.ts";
import { Invited, Login } from "../../accounts/model.ts";
import type { Visitor } from "../../audit/model.ts";
import { AppError } from "../../errors.ts";
import { passkeyHost } from "../../factors/responses.ts";
import { check } from "../../http/input.ts";
import { MAX_RAW_EMAIL } from "../../normal-text.ts";
import type { Actor } from "../../policy/model.ts";
import { type LoginNeeds, loginWithDirectory } from "../../sso/login.ts";
import { DirectoryCredentials } from "../../sso/model.ts";
import { listProviders } from "../../sso/providers.ts";
import { command } from "../command.ts";
import type { Cookies } from "../cookies.ts";
import { type Address, address, addressOf, type Html, html, targetOf } from "../html.ts";
import { type Fields, fieldOf, type Moved, type Page } from "../page.ts";
import type { PasskeyPageNeeds } from "../passkey.ts";

/** Dependencies of signing in. */
export type SignInNeeds = AccountNeeds & PasswordLoginNeeds & LoginNeeds & PasskeyPageNeeds & { cookies: Cookies };

/** Shows every way to sign in. @param target the page to go on to @param typed the e-mail of a form that comes back, and whether a code is asked for, too; the password is typed again, as no page keeps it */
export async function signInPage(
	needs: SignInNeeds,
	target: string | undefined,
	refused?: SignInRefusal,
	typed: { email?: string; isCodeAsked?: boolean } = {},
): Promise<Page> {
	const to = goOnTo(target);
	const { email = "", isCodeAsked = false } = typed;
	const providers = await listProviders(needs);
	const ways = providers.map(({ type, name, display_name }) =>
		type === "ldap"
			? directoryForm(name, display_name, to)
			: html`<p><a class="button" href="/console/sign-in/${type}/${name}?target=${targetOf(to)}">Sign in with ${display_name}</a></p>`,
	);
	return {
		title: "Sign in",
		status: refused?.status ?? 401,
		body: html`${noticeOf(refused)}<form method="post" action="/console/sign-in">
<input type="hidden" name="target" value="${targetOf(to)}">
${email === "" ? EMPTY_FIELDS : filledFields(email)}
${isCodeAsked ? CODE_FIELD : ""}<p><button>Sign in</button></p></form>${passkeyLink(needs, to)}${ways}
<p>No account yet? <a href="/console/register">Make your account</a></p>`,
		commands: [
			command`svc login`,
			...providers.map(({ type, name }) => command`svc login --${type === "ldap" ? "ldap" : "sso"} ${name}`),
		],
	};
}

const EMPTY_FIELDS = html`<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="username" required autofocus>
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>`;

const filledFields = (email: string): Html =>
	html`<label for="email">E-mail</label><input id="email" name="email" type="email" value="${email}" autocomplete="username" required>
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required autofocus>`;

/** Says why the form came back. That a code is asked for is no error. */
function noticeOf(refused: SignInRefusal | undefined): Html | string {
	if (refused === undefined) return "";
	const kind = refused.code === "second_factor_required" ? "warn" : "error";
	return html`<p class="${kind}" role="alert">${refused.message}</p>`;
}

/** Refusal that the page shows. */
type SignInRefusal = Pick<AppError, "status" | "message"> & { code?: AppError["code"] };

const CODE_FIELD = html`<label for="code">Code of your authenticator app, or a recovery code</label><input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false" autocapitalize="off" required>
`;

/** Finds the page to go on to after signing in: none that is a part of it. */
export const goOnTo = (target = ""): Address =>
	addressOf(/^\/console\/sign-(?:in|out)\b/.test(target) ? undefined : target);

/** Leads to the passkeys where they can work. */
const passkeyLink = ({ address: here }: PasskeyPageNeeds, to: Address): Html | string =>
	passkeyHost(here()) === undefined
		? ""
		: html`<p><a class="button" href="/console/sign-in/passkey?target=${targetOf(to)}">Sign in with a passkey</a></p>`;

function directoryForm(name: string, display_name: string, to: Address): Html {
	return html`<h2>With ${display_name}</h2><form method="post" action="/console/sign-in" aria-label="With ${display_name}">
<input type="hidden" name="target" value="${targetOf(to)}"><input type="hidden" name="provider" value="${name}">
<label for="username-${name}">User name</label><input id="username-${name}" name="username" type="text" autocomplete="username" spellcheck="false" required>
<label for="password-${name}">Password</label><input id="password-${name}" name="password" type="password" autocomplete="current-password" required>
<label for="invitation-${name}">Code of an invitation, if you have one</label><input id="invitation-${name}" name="invitation" type="text" autocomplete="off" spellcheck="false">
<p><button>Sign in with ${display_name}</button></p></form>`;
}

/** Signs in with a password, of the account or of a directory. The form has no token, as there is no session to bind it to: its origin is checked. */
export async function signIn(needs: SignInNeeds, visitor: Visitor, form: Fields): Promise<Page | Moved> {
	try {
		const { token } = await (form.provider === undefined ? withPassword : withDirectory)(needs, visitor, form);
		return { to: addressOf(form.target), cookies: [needs.cookies.begin(token)] };
	} catch (error) {
		const email = (form.email ?? "").slice(0, MAX_RAW_EMAIL);
		if (error instanceof AppError && isAskedForCode(error, form)) {
			const { status, code } = error;
			return signInPage(needs, form.target, { status, code, message: explain(error) }, { email, isCodeAsked: true });
		}
		return refusedPage(needs, form.target, error, { email });
	}
}

/** Tells whether the form comes back with the field for a code: the account needs one, or the one that was typed is wrong. */
const isAskedForCode = ({ code }: AppError, form: Fields) =>
	code === "second_factor_required" || (code === "invalid_credentials" && form.code !== undefined);

const explain = ({ code, message }: AppError) =>
	code === "second_factor_required"
		? "Your account has a second factor: type your password again, then a code."
		: message;

const withPassword = (needs: SignInNeeds, visitor: Visitor, { email, password, code }: Fields) =>
	login(needs, visitor, check(Login, { email, password, code: code || undefined }));

async function withDirectory(needs: SignInNeeds, visitor: Visitor, form: Fields) {
	const { username, password, invitation: typed = "" } = form;
	const given = check(DirectoryCredentials, { username, password });
	const { invitation } = check(Invited, typed === "" ? {} : { invitation: typed.trim() });
	return loginWithDirectory(needs, visitor, fieldOf({ form }, "provider"), { ...given, invitation });
}

/** Shows the form again after a refusal. @throws the error when it is the server's */
export async function refusedPage(
	needs: SignInNeeds,
	target: string | undefined,
	error: unknown,
	typed?: { email: string },
): Promise<Page> {
	if (!(error instanceof AppError) || (error.status >= 500 && error.code !== "provider_unavailable")) throw error;
	return signInPage(needs, target, error, typed);
}

/** Ends the session, and its cookie. */
export async function signOut(needs: SignInNeeds, actor: Actor): Promise<Moved> {
	await logout(needs, actor);
	return { to: address`/console`, cookies: [needs.cookies.end()] };
}
