import { createCache } from "../cache.ts";
import { CONSOLE_TYPE, createSessionTokens, type SessionTokens } from "../crypto/session.ts";
import { AppError } from "../errors.ts";
import { type Challenges, createChallenges } from "../factors/challenges.ts";
import { parseQuery } from "../http/input.ts";
import type { PageAnswer, PageRequest, Pages } from "../http/pages.ts";
import { identifySession, lacksFactor, type SessionOwnerNeeds } from "../policy/authenticate.ts";
import type { Actor } from "../policy/model.ts";
import { answerForm, answerPage, type Use } from "./answer.ts";
import { type Cookies, cookiesFor } from "./cookies.ts";
import { createDrafts } from "./drafts.ts";
import { endpointsOf, type SiteNeeds } from "./endpoints.ts";
import { address, html, targetOf } from "./html.ts";
import { createLayout, type Frame, type Layout } from "./layout.ts";
import type { Endpoint, Fields, Moved, Notes, Page } from "./page.ts";
import { bounce } from "./pages/bounce.ts";
import { errorPage } from "./pages/error.ts";
import { answerRegister, type RegisterNeeds, registerPage } from "./pages/register.ts";
import { sectionOf } from "./pages/section.ts";
import { signInPage, signOut } from "./pages/sign-in.ts";
import { answerSignIn } from "./pages/sign-in-sso.ts";
import { checkForm, checkOrigin, FORM_TOKEN, formToken, isCrossSite } from "./request-guard.ts";

/** Sessions of which something is remembered between two pages. */
const MAX_NOTES = 10_000;

/** Parts that the pages share. */
interface Site {
	needs: SiteNeeds;
	origin: string;
	/** Whether base_url is set; else the origin is that of the socket. */
	is_chosen: boolean;
	layout: Layout;
	cookies: Cookies;
	sessions: SessionTokens;
	drafts: ReturnType<typeof createDrafts>;
	challenges: Challenges;
	/** Sessions whose last use was noted within the last minute. */
	noted: SessionOwnerNeeds["noted"];
	notes: { get(jti: string): Notes | undefined; set(jti: string, notes: Notes): unknown };
	endpoints: readonly Endpoint[];
}

/** Makes the pages. Each calls the API's own rules with the same actor, so that it can do nothing that the API cannot. Design: §16 */
export function createSite(needs: SiteNeeds, is_chosen: boolean): Pages {
	const { origin } = new URL(needs.address());
	const challenges = createChallenges({ ...needs, keys: () => needs.keyring.session() });
	for (const limit of challenges.limits) needs.limits.add(limit);
	const site: Site = {
		needs,
		origin,
		is_chosen,
		layout: createLayout(),
		cookies: cookiesFor(origin),
		sessions: createSessionTokens(() => needs.keyring.session(), needs.system, CONSOLE_TYPE),
		noted: createCache<string, number>(MAX_NOTES),
		notes: createCache<string, Notes>(MAX_NOTES),
		drafts: createDrafts(),
		challenges,
		endpoints: endpointsOf({ ...needs, challenges }),
	};
	return {
		answer: (request) => answer(site, request),
		refuse: async (_, error) => show(site, NOBODY, { ...errorPage(error), headers: error.headers }),
	};
}

/** The page that a session without a required second factor gets in place of any other. */
const FACTORS = "/console/account/factors";

const NOBODY: Frame = { email: undefined, token: html``, message: undefined };

/** Bytes of a form without a session: a passkey's answer is the largest. */
const STRANGERS_FORM_BYTES = 64 * 1024;

async function answer(site: Site, request: PageRequest): Promise<PageAnswer> {
	const { path, bytes } = site.layout.script;
	if (request.target === path && request.method === "GET") return scriptFile(bytes);
	if (request.target === "/") return redirect("/console");
	if (request.headers.host !== new URL(site.origin).host) return show(site, NOBODY, elsewhere(site));
	checkOrigin(request, site.origin);
	const isPost = request.method === "POST";
	if (!isPost && request.method !== "GET") throw notAllowed();
	const token = site.cookies.read(request.headers.cookie);
	const { needs, sessions, noted } = site;
	const identity = { ...needs, sessions, noted };
	const actor =
		token &&
		(await identifySession(identity, token, request.request_id, request.ip, request.headers["user-agent"] ?? ""));
	// A cookie that opens nothing is a stranger's.
	const form = isPost ? await request.readForm(actor ? undefined : STRANGERS_FORM_BYTES) : {};
	const [pathname = ""] = request.target.split("?");
	const registering = await answerRegister(entryNeeds(site), request, pathname, form);
	if (registering !== undefined) return entered(site, registering);
	const entering = await answerSignIn(entryNeeds(site), request, pathname, form);
	if (entering !== undefined) return entered(site, entering);
	if (token === undefined && isCrossSite(request)) return show(site, NOBODY, bounce(request.target));
	if (!actor && !(await site.needs.store.accounts.hadAny()))
		return show(site, NOBODY, await registerPage(entryNeeds(site), {}));
	if (!actor) {
		return show(site, NOBODY, await signInPage(entryNeeds(site), isPost ? undefined : request.target));
	}
	return { ...(await visit(site, request, actor, pathname, form)), actor };
}

function entered(site: Site, result: NonNullable<Awaited<ReturnType<typeof answerSignIn>>>): PageAnswer {
	if ("location" in result) return withCookies(redirect(result.location), result.cookies);
	return "body" in result ? show(site, NOBODY, result) : moved(result);
}

/** Returns the dependencies of everything that makes a session. */
function entryNeeds({ needs, sessions, cookies, challenges }: Site): RegisterNeeds {
	return { ...needs, sessions, cookies, challenges };
}

async function visit(
	site: Site,
	request: PageRequest,
	actor: Actor,
	pathname: string,
	form: Fields,
): Promise<PageAnswer> {
	const { needs, cookies } = site;
	const jti = actor.jti ?? "";
	const expected = formToken(needs.keyring.cursorKey(), jti);
	if (request.method === "POST") checkForm(form, expected);
	const notes = site.notes.get(jti) ?? {};
	const token = html`<input type="hidden" name="${FORM_TOKEN}" value="${expected}">`;
	const frame = { email: actor.email, token, message: notes.message, problem: notes.problem };
	const forget = notes.hasShown === true ? [cookies.forget(request.request_id)] : [];
	site.notes.set(jti, { ...notes, message: undefined, problem: undefined, once: undefined, hasShown: false });
	const kept = site.notes.get(jti) ?? {};
	const ofSession = { notes: kept, once: notes.once, draft: site.drafts(actor.user_id, jti) };
	const asked = {
		actor: { ...actor, confirmed_at: notes.confirmed_at ?? actor.confirmed_at },
		query: parseQuery(request.target),
		form,
		token,
		...ofSession,
	};
	try {
		if (pathname === "/console/sign-out" && request.method === "POST") {
			ofSession.draft.drop();
			return moved(await signOut(entryNeeds(site), actor));
		}
		if (pathname !== FACTORS && (await lacksFactor(needs, actor))) {
			kept.message = "This server requires a second factor: add one, then go on.";
			return moved({ to: address`/console/account/factors` });
		}
		const use: Use = (method, form) =>
			find(site, method, pathname, (endpoint, params) => endpoint.answer({ ...asked, form, params }));
		const sent = { target: request.target, form, kept: site.drafts(actor.user_id, `${jti} sent`) };
		const result = await (request.method === "POST" ? answerForm(use, sent) : answerPage(use, sent));
		if ("body" in result) return withCookies(show(site, frame, result), forget);
		[kept.message, kept.problem] = [result.message, result.problem];
		return withCookies(moved(result), forget);
	} catch (error) {
		if (!(error instanceof AppError) || error.status >= 500) throw error;
		const from = request.method === "POST" ? request.target : undefined;
		const page = { ...(await sectionOf(needs, actor, pathname)), ...errorPage(error, from), headers: error.headers };
		return withCookies(show(site, frame, page), forget);
	}
}

function find<Result>(
	{ endpoints }: Site,
	method: string,
	pathname: string,
	use: (endpoint: Endpoint, params: string[]) => Promise<Result>,
): Promise<Result> {
	const fitting = endpoints.filter(({ path }) => path.test(pathname));
	const endpoint = fitting.find((one) => one.method === method);
	if (endpoint === undefined) throw fitting.length > 0 ? notAllowed() : noPage();
	const [, ...parts] = endpoint.path.exec(pathname) ?? [];
	return use(endpoint, parts.map(decode));
}

function decode(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		throw noPage();
	}
}

const noPage = () => new AppError("not_found", "this page does not exist: begin with the list of realms");

const notAllowed = () =>
	new AppError("method_not_allowed", "this page accepts only GET and POST", { headers: { allow: "GET, HEAD, POST" } });

function show({ layout }: Site, frame: Frame, page: Page): PageAnswer {
	const refresh: Record<string, string> = page.refresh === undefined ? {} : { refresh: String(page.refresh) };
	if (page.away !== undefined) refresh.refresh = `0;url=${page.away}`;
	const shown = {
		status: page.status ?? 200,
		headers: { ...layout.headers, ...refresh, ...page.headers },
		body: layout.render(frame, page),
	};
	return withCookies(shown, page.cookies ?? []);
}

function moved({ to, cookies = [] }: Moved): PageAnswer {
	return withCookies(redirect(targetOf(to)), cookies);
}

function redirect(location: string): PageAnswer {
	return { status: 303, headers: { location, "referrer-policy": "same-origin" }, body: "" };
}

function withCookies(given: PageAnswer, cookies: readonly string[]): PageAnswer {
	return cookies.length === 0 ? given : { ...given, headers: { ...given.headers, "set-cookie": [...cookies] } };
}

function scriptFile(body: Buffer): PageAnswer {
	const headers = {
		"content-type": "text/javascript; charset=utf-8",
		"cache-control": "public, max-age=31536000, immutable",
		"cross-origin-resource-policy": "same-origin",
		"content-length": String(body.length),
	};
	return { status: 200, headers, body };
}

/** Not a redirect: behind a proxy that passes another Host it would never end. */
function elsewhere({ origin, is_chosen }: Pick<Site, "origin" | "is_chosen">): Page {
	const why = is_chosen
		? html`It answers only under the server's <code>base_url</code>:`
		: html`<code>base_url</code> is not set, so it answers only at:`;
	return {
		title: "The console is at another address",
		status: 421,
		body: html`<p>${why}</p><pre>${origin}/console</pre>
<p class="quiet">If you opened that address, a proxy in between does not pass on the Host header.</p>`,
	};
}
