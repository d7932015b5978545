import { login } from "../../accounts/login.ts";
import { type LeftOutRole, Login, Register } from "../../accounts/model.ts";
import { type RegistrationNeeds, register } from "../../accounts/registration.ts";
import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import type { PageRequest } from "../../http/pages.ts";
import { MAX_RAW_EMAIL } from "../../normal-text.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Fields, fieldOf, type Moved, type Page } from "../page.ts";
import type { SignInNeeds } from "./sign-in.ts";

/** Dependencies of making an account. */
export type RegisterNeeds = SignInNeeds & RegistrationNeeds;

const PATH = "/console/register";

/** Answers the page that makes an account; undefined for any other page. @param form empty for a GET */
export async function answerRegister(
	needs: RegisterNeeds,
	{ method, request_id, ip }: PageRequest,
	pathname: string,
	form: Fields,
): Promise<Page | Moved | undefined> {
	if (pathname !== PATH) return undefined;
	if (method !== "POST") return registerPage(needs, {});
	try {
		if (form.password !== form.again) throw new AppError("validation_failed", "the two passwords differ");
		const { email, password, name } = form;
		const codes = { setup_code: form.setup_code || undefined, invitation: form.invitation || undefined };
		const registering = check(Register, { email, password, name, ...codes });
		const { left_out } = await register(needs, { request_id, ip }, registering, undefined);
		if (left_out !== undefined) return lessThanInvited(left_out);
		const signingIn = { email: fieldOf({ form }, "email"), password: fieldOf({ form }, "password") };
		const { token } = await login(needs, { request_id, ip }, check(Login, signingIn));
		return { to: address`/console`, cookies: [needs.cookies.begin(token)] };
	} catch (error) {
		if (!(error instanceof AppError) || error.status >= 500) throw error;
		return registerPage(needs, form, error);
	}
}

/** Informs an invited person that some of the promised roles were not given. */
function lessThanInvited(left_out: readonly LeftOutRole[]): Page {
	return {
		title: "Your account is made",
		body: html`<p class="error" role="alert">The person who invited you may no longer give these roles, so your account does not have them. Ask an admin of the realm.</p>
<ul>${left_out.map(({ realm, role }) => html`<li>${role} in ${realm}</li>`)}</ul>
<p><a href="/console/sign-in">Sign in</a></p>`,
	};
}

/** Returns what was typed, for the form. A long text is dropped: escaping a stranger's megabyte takes too long. */
const shown = (typed = "") => (typed.length <= MAX_RAW_EMAIL ? typed : "");

/** Shows the form: on a new server for its first account, else for somebody who was invited or may register. */
export async function registerPage(needs: RegisterNeeds, form: Fields, refused?: AppError): Promise<Page> {
	const isFirst = !(await needs.store.accounts.hadAny());
	const problem = refused === undefined ? "" : html`<p class="error" role="alert">${refused.message}</p>`;
	const [email, name] = [shown(form.email), shown(form.name)];
	return {
		title: isFirst ? "Set up this server" : "Make your account",
		status: refused?.status ?? 200,
		body: html`${problem}${isFirst ? html`<p>The first account administers the server.</p>` : ""}<form method="post" action="/console/register">
<label for="email">E-mail</label><input id="email" name="email" type="email" value="${email}" autocomplete="username" required>
<label for="name">Your name</label><input id="name" name="name" type="text" value="${name}" autocomplete="name">
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="new-password" required aria-describedby="length"><p class="quiet" id="length">At least 12 characters.</p>
<label for="again">The same password again</label><input id="again" name="again" type="password" autocomplete="new-password" required>
${isFirst ? setupField(needs) : invitationField(needs, shown(form.invitation))}<p><button>Make the account</button></p></form>${isFirst ? "" : html`<p><a href="/console/sign-in">Sign in</a></p>`}`,
		commands: [isFirst ? command`svc init` : command`svc register --invite`],
	};
}

function setupField({ setup_code }: RegisterNeeds): Html | string {
	if (setup_code.file === undefined) return "";
	return html`<label for="setup_code">Setup code</label><input id="setup_code" name="setup_code" type="text" autocomplete="off" spellcheck="false" autocapitalize="off" required aria-describedby="where"><p class="quiet" id="where">It is in the file <code>setup-code</code> in the server's data directory.</p>`;
}

const NEEDED =
	"This server makes accounts only with an invitation. The message from the person who invited you has the code.";
const INVITED =
	"If somebody invited you, enter the code from their message: it gives you your roles. An account made without it gets none of them, and the code no longer works.";

function invitationField({ registration }: RegisterNeeds, code: string): Html {
	const { mode } = registration;
	const note = {
		open: `${INVITED} If nobody invited you, leave this empty.`,
		domain: `${INVITED} If nobody invited you and your address is of this server's domain, leave this empty.`,
		admin: NEEDED,
		closed: NEEDED,
	}[mode];
	return html`<label for="invitation">Code of your invitation</label><input id="invitation" name="invitation" type="text" value="${code}" autocomplete="off" spellcheck="false" autocapitalize="off" aria-describedby="where"><p class="quiet" id="where">${note}</p>`;
}
